use ai_mcp::{McpErrorKind, McpServer, McpServers};

fn refused(name: &str, server: McpServer) -> String {
    let error = McpServers::builder().with(name, server).unwrap_err();
    assert_eq!(error.kind(), McpErrorKind::Settings);
    error.to_string()
}

/// [MC-3]
#[test]
fn a_name_that_is_none_or_is_taken_is_refused() {
    assert!(refused("a__b", McpServer::stdio("x")).contains("`a__b`: this is no name for a server"));
    assert!(!refused("a\nb", McpServer::stdio("x")).contains('\n'));
    let builder = McpServers::builder().with("a", McpServer::stdio("x")).unwrap();
    assert_eq!(
        builder.with("a", McpServer::stdio("y")).unwrap_err().message(),
        "there are two servers of this name"
    );
}

/// [MC-55]
#[test]
fn settings_that_make_no_sense_are_refused_before_anything_starts() {
    let http = |url: &str| refused("a", McpServer::http(url));
    assert!(http("not a url").ends_with("the URL cannot be read"));
    assert!(http("ftp://host/x").ends_with("the URL begins with neither http:// nor https://"));
    assert!(http("/mcp").ends_with("the URL begins with neither http:// nor https://"));
    let secret = http("https://me:hunter2@host/mcp");
    assert!(secret.contains("use a header instead") && !secret.contains("hunter2"), "{secret}");
    let header = |name: &str, value: &str| refused("a", McpServer::http("http://host/").header(name, value));
    assert!(header("a b", "x").ends_with("`a b` is no name of a header"));
    let broken = header("authorization", "Bearer hunter2\n");
    assert!(broken.contains("the header `authorization`") && !broken.contains("hunter2"), "{broken}");
    assert!(refused("a", McpServer::stdio(" ")).ends_with("the command is empty"));
    assert!(refused("a", McpServer::stdio("x").env("A=B", "c")).ends_with("`A=B` is no name of a variable"));
    assert!(refused("a", McpServer::stdio("x").args(["a\0b"])).contains("zero byte"));
}

/// [MC-56]
#[test]
fn nothing_shows_a_secret() {
    let stdio = McpServer::stdio("x").args(["--key=hunter2"]).env("TOKEN", "hunter2");
    let http = McpServer::http("https://host/mcp?key=hunter2").header("authorization", "Bearer hunter2");
    let shown = format!("{stdio:?} {http:?} {:?}", McpServers::builder().with("a", http.clone()).unwrap());
    assert!(shown.contains("TOKEN") && shown.contains("authorization") && shown.contains("https://host/mcp"));
    assert!(!shown.contains("hunter2"), "{shown}");
}
