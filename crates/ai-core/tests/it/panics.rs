//! What panics where nobody expects it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ai_core::{LoopEvent, RunOptions, ToolError, ToolEvent, ToolSet, tool_fn};
use ai_provider::Message;
use ai_testkit::ScriptedModel;
use futures_util::{FutureExt, StreamExt};

use crate::support::{Settled, Text, calls, check_history, loop_of};

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("on its way out");
    }
}

/// [AC-335]
#[tokio::test]
async fn a_tool_that_panics_when_it_is_cut_ends_nothing_but_itself() {
    for cancelled in [true, false] {
        let hangs = tool_fn("hangs", "", |_: Text, _| async move {
            let _bomb = Bomb;
            std::future::pending::<Result<(), ToolError>>().await
        });
        let call = |id| (id, "hangs", r#"{"text":""}"#);
        let model = ScriptedModel::new().reply(calls(&[call("a"), call("b")]));
        let settled = Arc::new(Settled::default());
        let options = RunOptions::default().with_control(settled.clone());
        let (handle, mut events) =
            loop_of(&model, ToolSet::new().with(hangs).unwrap()).start([Message::user("go")], options);
        let mut started = 0;
        while started < 2 {
            started += u32::from(matches!(events.next().await, Some(LoopEvent::Tool(ToolEvent::Started(_)))));
        }
        assert!(events.next().now_or_never().is_none(), "both are at work");
        if cancelled {
            handle.cancel();
            let Some(LoopEvent::End(end)) = events.collect::<Vec<_>>().await.pop() else { panic!("no end") };
            let statuses: Vec<_> = end.steps[0].tools.iter().map(|tool| tool.status.as_str()).collect();
            assert_eq!(statuses, ["delivery-unknown"; 2]);
            check_history(end.snapshot.run().messages()).unwrap();
        } else {
            drop(events);
        }
        assert_eq!(
            (settled.0.load(Ordering::SeqCst), settled.1.lock().unwrap()[0].as_str()),
            (1, "cancelled")
        );
    }
}
