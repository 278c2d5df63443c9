use agent_loop::{UiBlockState, UiMessage, UiPart, UiToolState};

/// Closes what a cut has left open in a message: texts and reasoning are over as they are, and calls that have no
/// result have one that says so.
pub(crate) fn close_parts(message: &mut UiMessage) {
    for part in &mut message.parts {
        match part {
            UiPart::Text { state, .. } | UiPart::Reasoning { state, .. }
                if *state == Some(UiBlockState::Streaming) =>
            {
                *state = Some(UiBlockState::Done);
            }
            UiPart::Tool(tool) => {
                let over = matches!(
                    tool.state,
                    UiToolState::OutputAvailable | UiToolState::OutputError | UiToolState::OutputDenied
                );
                if !over || tool.preliminary == Some(true) {
                    tool.state = UiToolState::OutputError;
                    tool.preliminary = None;
                    tool.output = None;
                    tool.error_text = Some("The call was cut off.".to_owned());
                }
            }
            _ => {}
        }
    }
}
