mod agent;
mod embedding;
mod ends;
mod failures;
mod outside;
mod pipeline;
mod provider_tools;
mod recorder;
