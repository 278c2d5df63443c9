use ai_core::Effect;
use serde_json::{Value, json};

use crate::support::{call, connect, stdio, tools};

/// [MC-60]
#[tokio::test]
async fn every_tool_of_server_filesystem_can_be_called() {
    let folder = tempfile::TempDir::new().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let at = |name: &str| root.join(name).to_str().unwrap().to_owned();
    let Some(server) = stdio("server-filesystem", &[root.to_str().unwrap()]) else { return };
    std::fs::write(at("a.txt"), "one\ntwo\n").unwrap();
    std::fs::write(at("dot.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    let servers = connect(server.with_trusted_hints(true)).await;
    // In this order: some need what others did.
    let calls: Vec<(&str, Value, &str)> = vec![
        ("list_allowed_directories", json!({}), root.to_str().unwrap()),
        ("write_file", json!({"path": at("b.txt"), "content": "new"}), "b.txt"),
        (
            "edit_file",
            json!({"path": at("b.txt"), "edits": [{"oldText": "new", "newText": "newer"}]}),
            "+newer",
        ),
        ("create_directory", json!({"path": at("sub")}), "sub"),
        ("move_file", json!({"source": at("b.txt"), "destination": at("sub/c.txt")}), "c.txt"),
        ("read_file", json!({"path": at("a.txt")}), "one\ntwo\n"),
        ("read_text_file", json!({"path": at("a.txt"), "head": 1}), "one"),
        ("read_media_file", json!({"path": at("dot.png")}), "<image/png>"),
        ("read_multiple_files", json!({"paths": [at("a.txt"), at("sub/c.txt")]}), "newer"),
        ("list_directory", json!({"path": at("")}), "[DIR] sub"),
        ("list_directory_with_sizes", json!({"path": at("")}), "a.txt"),
        ("directory_tree", json!({"path": at("")}), "c.txt"),
        ("search_files", json!({"path": at(""), "pattern": "**/*.txt"}), "c.txt"),
        ("get_file_info", json!({"path": at("a.txt")}), "size: 8"),
    ];
    let mut left = tools(&servers);
    for (tool, input, says) in calls {
        let called = call(&servers, tool, input).await;
        assert_eq!(called.status, "ok", "{tool}: {called:?}");
        assert!(called.text().contains(says), "{tool}: {}", called.text());
        left.retain(|name| name != tool);
    }
    assert!(left.is_empty(), "the server has new tools: {left:?}");
    assert_eq!(std::fs::read_to_string(at("sub/c.txt")).unwrap(), "newer");
    let refused = call(&servers, "read_text_file", json!({"path": "/etc/hostname"})).await;
    assert_eq!(refused.status, "failed");
    assert!(refused.text().starts_with("Access denied"), "{}", refused.text());
    let asks = |remote: &str| {
        let status = servers.status().remove(0);
        status.tools.into_iter().find(|tool| tool.remote_name == remote).map(|tool| tool.effect).unwrap()
    };
    assert_eq!((asks("read_text_file"), asks("move_file")), (Effect::ReadOnly, Effect::SideEffect));
    servers.close().await;
}
