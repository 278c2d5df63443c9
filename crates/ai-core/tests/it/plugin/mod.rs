mod agent;
mod embedding;
mod ends;
mod failures;
mod pipeline;
mod provider_tools;
mod recorder;
