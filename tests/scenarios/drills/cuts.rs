//! Answers that break off, or arrive in pieces.

use super::*;

/// [AL-263]
#[tokio::test]
async fn cut_before_the_first_token() {
    let nothing = || reply(frame(&json!({"role": "assistant"}))).ending(reset());
    let seen = drill(vec![nothing(), answer()], false).await;
    assert_eq!(seen.requests.len(), 2);
    assert_eq!(seen.requests[0], seen.requests[1], "the same messages, whole");
    assert_eq!(seen.failures(), [(1, 1, ErrorClass::Transport, true)]);
    assert_eq!((seen.text.as_str(), seen.kinds().last()), ("It is sunny.", Some(&"finish")));
    assert_eq!(seen.audit.missing(), []);
    let undisturbed = drill(vec![answer()], false).await;
    assert_eq!(seen.transcript, undisturbed.transcript);
    assert_eq!(seen.kinds(), undisturbed.kinds());

    // Where it was the last attempt, nothing is there, and each says so.
    let seen = drill(vec![nothing(), nothing()], false).await;
    assert_eq!(seen.failures(), [(1, 1, ErrorClass::Transport, true), (1, 2, ErrorClass::Transport, true)]);
    assert_eq!((seen.text.as_str(), seen.error_text()), ("", Some("Something went wrong.")));
    let missing = [Missing::Answer { step: 1 }, Missing::Usage { step: 1 }];
    assert_eq!((seen.audit.outcome(), seen.audit.missing()), (Some("failed"), &missing[..]));
    assert_eq!(seen.transcript.missing, missing);
    assert_eq!(seen.transcript.history(Interrupted::Mark), [question()]);
}

/// [AL-264]
#[tokio::test]
async fn cut_after_a_tool_call() {
    // The answer ends inside of it: it is no call yet, and nothing has run.
    let body = [say("Let me see."), call(0, "c1", "weather", r#"{"name":"Rome"}"#)];
    let body: String = body.iter().map(frame).collect();
    let seen = drill(vec![reply(body).ending(reset())], false).await;
    assert_eq!((seen.requests.len(), seen.failures()), (1, vec![(1, 1, ErrorClass::Transport, false)]));
    assert_eq!((seen.text.as_str(), seen.kinds().last()), ("Let me see.", Some(&"error")));
    assert!(seen.kinds().contains(&"tool-input-error"), "{:?}", seen.kinds());
    let (step, call_id, tool) = (1, "c1".into(), "weather".to_owned());
    let missing =
        [Missing::RestOfAnswer { step }, Missing::Usage { step }, Missing::Input { step, call_id, tool }];
    assert_eq!((seen.audit.missing(), &seen.transcript.missing[..]), (&missing[..], &missing[..]));
    assert!(seen.transcript.is_incomplete());

    // The process goes while the tool runs: nobody knows whether it took effect, and nothing runs it again.
    let (ran, begun) = (Arc::new(Mutex::new(0)), CancellationToken::new());
    let (count, begins) = (Arc::clone(&ran), begun.clone());
    let books = tool_fn("weather", "Books it.", move |_: City, _| {
        *count.lock().unwrap() += 1;
        begins.cancel();
        async { std::future::pending::<Result<String, ToolError>>().await }
    });
    let transport = MemoryTransport::new().reply(asks());
    let entries: Arc<Mutex<Vec<AuditEntry>>> = Arc::default();
    let heard = Arc::clone(&entries);
    let agent = agent(&transport, ToolSet::new().with(books).unwrap(), true)
        .with_audit(Audit::new(move |entry| heard.lock().unwrap().push(entry)));
    let mut view = TranscriptView::new([question()]);
    let mut run = agent.stream([question()], CancellationToken::new());
    loop {
        tokio::select! {
            biased;
            event = run.next() => view.push(&event.unwrap()),
            () = begun.cancelled() => break,
        }
    }
    drop(run);
    let unresolved =
        |state| Missing::Result { step: 1, call_id: "c1".into(), tool: "weather".to_owned(), state };
    let transcript = view.transcript();
    let missing =
        [Missing::RestOfAnswer { step: 1 }, Missing::Usage { step: 1 }, unresolved(Unresolved::Unknown)];
    assert_eq!(transcript.missing, [&missing[..], &[Missing::Ending]].concat());
    let waits: Vec<_> = transcript.missing.iter().filter(|missing| missing.needs_check()).collect();
    assert_eq!(waits, [&missing[2]], "to be looked into before anybody goes on");
    let last = transcript.messages.last().unwrap();
    assert!(last.incomplete && matches!(&*last.message, Message::Tool(_)));
    let audit: AuditRecord = entries.lock().unwrap().drain(..).collect();
    assert_eq!(audit.missing(), [unresolved(Unresolved::DeliveryUnknown)]);
    let mut timeline = CallTimeline::new();
    timeline.extend(audit.entries());
    assert_eq!(
        timeline.to_string(),
        "call c1 · policy allow · started · cut off, delivery unknown, not retried"
    );
    assert_eq!((*ran.lock().unwrap(), transport.calls().len()), (1, 1));
}

/// [AL-265]
#[tokio::test]
async fn cut_before_usage() {
    // A finish was seen: the text is whole, and what it took is unknown.
    let whole = stream(&[say("It is sunny.")], "stop");
    let until_usage = whole.find("data: {\"choices\":[],").unwrap();
    let seen = drill(vec![reply(whole[..until_usage].to_owned()).ending(reset())], false).await;
    assert_eq!((seen.text.as_str(), seen.kinds().last()), ("It is sunny.", Some(&"finish")));
    assert!(!seen.kinds().contains(&"message-metadata"), "no tokens are shown where none are known");
    let missing = [Missing::Usage { step: 1 }];
    assert_eq!((seen.audit.missing(), &seen.transcript.missing[..]), (&missing[..], &missing[..]));
    assert!(!seen.transcript.is_incomplete());
    let ended = seen.audit.entries().iter().find_map(|entry| match &entry.event {
        AuditEvent::StepEnded { usage, .. } => Some(usage.total()),
        _ => None,
    });
    assert_eq!(ended, Some(None), "unknown, not 0");

    // None was seen: the text stays, and is not whole.
    let seen = drill(vec![reply(frame(&say("It is sun"))).ending(reset())], false).await;
    assert_eq!((seen.text.as_str(), seen.kinds().last()), ("It is sun", Some(&"error")));
    let missing = [Missing::RestOfAnswer { step: 1 }, Missing::Usage { step: 1 }];
    assert_eq!((seen.audit.missing(), &seen.transcript.missing[..]), (&missing[..], &missing[..]));
    assert_eq!(seen.transcript.messages.iter().filter(|entry| entry.incomplete).count(), 1);
}

/// [AL-266]
#[tokio::test]
async fn bytes_cut_anyhow_leave_the_same_to_all() {
    let arguments = [r#"{"na"#, r#"me"#, r#"":"#, r#""Ro"#, r#"me \u00"#, r#"e9"}"#];
    let mut deltas =
        vec![think("Zürich, "), think("or 東京? 🌍"), say("Let me \"see\": "), say("\u{2028}é🌦\r\n")];
    deltas.push(call(0, "c1", "weather", ""));
    deltas.push(call(1, "c2", "weather", ""));
    // Two calls side by side, fragment by fragment.
    for fragment in arguments {
        for index in 0..2 {
            deltas.push(json!({"tool_calls": [{"index": index, "function": {"arguments": fragment}}]}));
        }
    }
    let body = stream(&deltas, "tool_calls").replace("\n\n", "\r\n\r\n");
    let last = stream(&[say("Sonnig.")], "stop");
    let play = async |cut: Cut| {
        let replies = vec![reply(body.clone()).cut(cut.clone()), reply(last.clone()).cut(cut)];
        let seen = drill(replies, false).await;
        let told = seen.audit.entries().iter().filter_map(|entry| match &entry.event {
            AuditEvent::StepEnded { parts, .. } => Some(parts.clone()),
            _ => None,
        });
        (seen.text.clone(), told.collect::<Vec<_>>(), seen.transcript)
    };
    let whole = play(Cut::Whole).await;
    assert_eq!(whole.0, "Let me \"see\": \u{2028}é🌦\r\nSonnig.");
    let inputs = whole.2.messages.iter().filter_map(|entry| match &*entry.message {
        Message::Assistant(answer) => {
            Some(answer.tool_calls().map(|call| call.input.clone()).collect::<Vec<_>>())
        }
        _ => None,
    });
    assert_eq!(inputs.flatten().collect::<Vec<_>>(), [r#"{"name":"Rome \u00e9"}"#; 2]);
    for seed in 0..1000_u64 {
        // Pieces of 1 to 50 bytes.
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut at = 0;
        let mut offsets = Vec::new();
        while at < body.len() {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            at += 1 + usize::try_from(state % 50).unwrap();
            offsets.push(at);
        }
        assert_eq!(play(Cut::At(offsets)).await, whole, "seed {seed}");
    }
}
