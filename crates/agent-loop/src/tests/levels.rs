//! What a run shows at each level of the protocol.

use ai_testkit::{Script, ScriptedModel};
use serde_json::json;

use super::support::{agent, ask, run};
use crate::UiProtocol;

/// [AL-207] [AL-202]
#[tokio::test]
async fn a_run_is_written_at_the_level_of_its_agent() {
    for protocol in UiProtocol::ALL {
        let call = |name| Script::tool_reply("a", name, "{}");
        let denied = ScriptedModel::new().reply(call("denied")).reply(Script::text_reply("Well."));
        let denied = run(ask(&agent(&denied).with_ui_protocol(protocol))).await;
        let asks =
            run(ask(&agent(&ScriptedModel::new().reply(call("asks"))).with_ui_protocol(protocol))).await;
        let mut chunks = denied.chunks.iter().chain(&asks.chunks);
        assert!(chunks.all(|chunk| protocol.knows(chunk)), "level {protocol}");
        let denied = denied.only(&["tool-output-error", "tool-output-denied"]);
        let asked = asks.only(&["data-approval", "tool-approval-request"]);
        if protocol == UiProtocol::V5 {
            let error =
                json!({"type": "tool-output-error", "toolCallId": "a", "errorText": "The call was denied."});
            assert_eq!(denied, [error]);
            assert_eq!(
                (&asked[0]["type"], &asked[0]["data"]["toolCallId"]),
                (&json!("data-approval"), &json!("a"))
            );
        } else {
            assert_eq!(denied, [json!({"type": "tool-output-denied", "toolCallId": "a"})]);
            assert_eq!(asked[0]["toolCallId"], "a");
        }
    }
}
