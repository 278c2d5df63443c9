mod address;
mod data_url;
