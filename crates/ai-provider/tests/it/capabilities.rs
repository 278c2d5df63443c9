use ai_provider::{Capabilities, FileData, FilePart, MediaSupport, Message, StructuredOutput, UserPart};

/// [PV-52]
#[test]
fn a_media_type_is_accepted_by_its_kind() {
    let all = || {
        let mut all = MediaSupport::default();
        (all.image, all.audio, all.video, all.pdf) = (true, true, true, true);
        all
    };
    type Forbid = fn(&mut MediaSupport);
    let kinds: [(&str, Forbid); 4] = [
        ("image", |media| media.image = false),
        ("audio", |media| media.audio = false),
        ("video", |media| media.video = false),
        ("application/pdf", |media| media.pdf = false),
    ];
    for (kind, forbid) in kinds {
        let mut but_this = all();
        forbid(&mut but_this);
        for (other, _) in kinds {
            assert!(all().accepts(other));
            assert!(!MediaSupport::default().accepts(other));
            assert_eq!(but_this.accepts(other), other != kind, "{other} without {kind}");
        }
    }
    for text in ["text/plain", "text", "text/csv"] {
        assert!(MediaSupport::default().accepts(text));
    }
    for never in ["application/zip", "application", "application/pdfx", "font/woff", "", "/", "imagex/png"] {
        assert!(!all().accepts(never), "{never}");
    }
}

/// [PV-53]
#[test]
fn case_and_parameters_of_a_media_type_do_not_matter() {
    let mut media = MediaSupport::default();
    (media.image, media.pdf) = (true, true);
    for written in
        ["IMAGE/PNG", "Image/Svg+xml; charset=utf-8", "APPLICATION/PDF", "application/pdf;v=1", " image "]
    {
        assert!(media.accepts(written), "{written}");
    }
    assert!(!media.accepts("audio/mpeg; x=image/png"));
}

/// [PV-54]
#[test]
fn an_unknown_model_is_taken_for_a_text_model_with_tools() {
    let default = Capabilities::default();
    assert!(default.tools && default.parallel_tool_calls && default.usage_in_stream && !default.reasoning);
    assert_eq!(default.structured_output, StructuredOutput::None);
    assert_eq!((default.context_window, default.max_output_tokens), Default::default());
    assert_eq!((default.input, default.tool_result), (MediaSupport::default(), MediaSupport::default()));
    assert!(StructuredOutput::None < StructuredOutput::JsonObject);
    assert!(
        StructuredOutput::JsonObject < StructuredOutput::JsonSchema,
        "the stronger promise is the greater"
    );
}

/// [PV-55]
#[test]
fn debug_output_shows_no_content_of_a_file() {
    let contents = [
        FileData::bytes(&b"private"[..]),
        FileData::Text { text: "private".into() },
        FileData::Url { url: "https://a.example/?token=private".into() },
    ];
    for data in contents {
        let Message::User(mut user) = Message::user("See:") else { panic!() };
        user.parts.push(UserPart::File(FilePart::new("text/plain", data)));
        let shown = format!("{user:?} {user:#?}");
        assert!(shown.contains("text/plain") && !shown.contains("private"), "{shown}");
        // "private" as a list of bytes
        assert!(!shown.contains("112"), "{shown}");
    }
}

/// [PV-56]
#[test]
fn content_at_hand_can_be_had_as_base64() {
    assert_eq!(FileData::bytes(vec![0xfb, 0xff]).to_base64().as_deref(), Some("+/8="));
    assert_eq!(FileData::Text { text: "\u{e9}".into() }.to_base64().as_deref(), Some("w6k="));
    assert_eq!(FileData::bytes(vec![]).to_base64().as_deref(), Some(""));
    assert_eq!(FileData::Url { url: "u".into() }.to_base64(), None);
    assert_eq!(FileData::Reference { ids: Default::default() }.to_base64(), None);
}
