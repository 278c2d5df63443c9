//! Makes the agent a setup describes.

use std::num::NonZeroU32;
use std::path::Path;

use agent_loop::{Agent, Timeouts};
use ai_core::run::ApprovalVerdict;
use ai_core::{Approvals, ToolLoop, ToolSet};
use ai_provider::{Capabilities, TargetId, Usage};

use crate::config::{Approval, ApprovalConfig, TimeoutsConfig, ToolsConfig};
use crate::failure::Failure;
use crate::models;
use crate::prices::PriceList;
use crate::setup::Setup;
use crate::tools::files::Root;
use crate::tools::tool_set;

/// The parts of an agent: the model, the program's own tools, limits and prices.
#[derive(Clone, Debug)]
pub(crate) struct Assembly {
    tool_loop: ToolLoop,
    timeouts: Timeouts,
    prices: PriceList,
}

impl Assembly {
    /// Puts together what a setup describes. No request is made.
    ///
    /// # Errors
    /// If the model cannot be made, or the root folder cannot be opened.
    pub(crate) async fn of(setup: Setup, approvals: Approvals) -> Result<Self, Failure> {
        let root = setup.root.as_deref().map(|folder| open(folder, &setup.tool_limits)).transpose()?;
        let tools = tool_set(&setup.tools, root).map_err(|error| Failure::new(error.to_string()))?;
        let mut tool_loop = ToolLoop::new(models::model(&setup).await?)
            .with_tools(tools)
            .with_approvals(approvals)
            .with_step_cap(setup.max_steps)
            .with_settings(setup.settings)
            .with_extra_body(models::extra_body(&setup.model));
        if let Some(system) = setup.system {
            tool_loop = tool_loop.with_instructions(system);
        }
        let number = |number: NonZeroU32| usize::try_from(number.get()).unwrap_or(usize::MAX);
        if let Some(tools) = setup.tool_limits.concurrency.map(number) {
            tool_loop = tool_loop.with_tool_concurrency(tools);
        }
        if let Some(bytes) = setup.tool_limits.max_output_bytes.map(number) {
            tool_loop = tool_loop.with_tool_output_limit(bytes);
        }
        Ok(Self {
            tool_loop: consenting(tool_loop, setup.approval),
            timeouts: timeouts(&setup.timeouts),
            prices: setup.prices,
        })
    }

    /// The agent with these tools.
    pub(crate) fn agent(&self, tools: ToolSet) -> Agent {
        let prices = self.prices.clone();
        Agent::new(self.tool_loop.clone().with_tools(tools))
            .with_timeouts(self.timeouts)
            .with_costs(move |target, usage| prices.cost(target, usage))
            .with_plain_errors()
    }

    /// The program's own tools.
    pub(crate) fn tools(&self) -> &ToolSet {
        self.tool_loop.tools()
    }

    /// What is asked first.
    pub(crate) fn target(&self) -> &TargetId {
        self.tool_loop.model().target()
    }

    /// What the model can do that is asked first.
    pub(crate) fn capabilities(&self) -> &Capabilities {
        self.tool_loop.model().capabilities()
    }

    /// What a call cost, as far as it is known.
    pub(crate) fn cost(&self, target: &TargetId, usage: &Usage) -> Option<f64> {
        self.prices.cost(target, usage)
    }
}

fn open(folder: &Path, limits: &ToolsConfig) -> Result<Root, Failure> {
    let root = Root::open(folder).map_err(|error| {
        Failure::usage(format!("the root folder {} cannot be opened: {error}", folder.display()))
    })?;
    Ok(match limits.max_file_bytes {
        Some(bytes) => root.with_limit(bytes.get().into()),
        None => root,
    })
}

/// Where nothing is said of a tool, its own word counts.
fn consenting(tool_loop: ToolLoop, config: ApprovalConfig) -> ToolLoop {
    if config == ApprovalConfig::default() {
        return tool_loop;
    }
    tool_loop.with_approval_policy(move |call, _| {
        let said = config.tools.get(&call.name).copied().or(config.default);
        let verdict = said.map(|said| match said {
            Approval::Allow => ApprovalVerdict::Approved,
            Approval::Ask => ApprovalVerdict::ask(&call.id),
            Approval::Deny => ApprovalVerdict::Denied {
                reason: Some("the configuration of this program does not allow this tool".to_owned()),
            },
        });
        async move { verdict }
    })
}

fn timeouts(config: &TimeoutsConfig) -> Timeouts {
    let mut timeouts = Timeouts::new();
    timeouts.total = config.total.map(|limit| limit.0);
    timeouts.step = config.step.map(|limit| limit.0);
    timeouts.first_output = config.first_output.map(|limit| limit.0);
    timeouts.between_outputs = config.between_outputs.map(|limit| limit.0);
    timeouts.tool = config.tool.map(|limit| limit.0);
    timeouts
}
