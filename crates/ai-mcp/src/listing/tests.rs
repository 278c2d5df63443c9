#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

use serde_json::json;

use super::*;
use crate::settings::Limits;

fn server() -> McpServer {
    McpServer::stdio("x")
}

fn listed(settings: &McpServer, tools: impl IntoIterator<Item = Value>) -> Listing {
    let mut collector = Collector::new(settings);
    for tool in tools {
        if collector.offer(tool).is_break() {
            break;
        }
    }
    collector.finish("srv")
}

fn tool(name: &str) -> Value {
    json!({"name": name, "description": "Does it.", "inputSchema": {"type": "object"}})
}

fn with(mut tool: Value, key: &str, value: Value) -> Value {
    tool[key] = value;
    tool
}

fn reasons(listing: &Listing) -> Vec<(&str, &str)> {
    listing.refused.iter().map(|refused| (&*refused.name, &*refused.reason)).collect()
}

/// [MC-4]
#[test]
fn a_tool_that_cannot_be_used_is_reported_and_costs_no_other() {
    let tools = [
        tool("good"),
        json!({"description": "nameless", "inputSchema": {"type": "object"}}),
        json!("no object"),
        tool(&"n".repeat(129)),
        tool("good"),
        json!({"name": "schemaless"}),
        with(tool("odd"), "description", json!(5)),
        tool("line\nbreak\u{1b}"),
    ];
    let listing = listed(&server(), tools);
    let names: Vec<_> = listing.tools.iter().map(|tool| (&*tool.name, &*tool.remote)).collect();
    assert_eq!(names, [("srv__good", "good"), ("srv__line_break_", "line\nbreak\u{1b}")]);
    let reasons = reasons(&listing);
    assert_eq!(reasons[0], ("", "it has no name"));
    assert_eq!(reasons[1], ("", "it has no name"));
    assert_eq!(reasons[2].1, "its name is longer than 128 bytes");
    assert_eq!(reasons[3], ("good", "the server lists another tool of this name"));
    assert!(
        reasons[4].1.contains("not described as the protocol says: missing field `inputSchema`"),
        "{reasons:?}"
    );
    assert_eq!((reasons[5].0, reasons.len()), ("odd", 6));
}

/// [MC-5]
#[test]
fn schemas_are_carried_over_and_those_a_provider_would_refuse_are_left_out() {
    let rich = json!({
        "type": "object", "required": ["at"], "additionalProperties": false, "$defs": {"t": {"type": "string"}},
        "properties": {"at": {"$ref": "#/$defs/t"}, "n": {"type": "integer", "minimum": 1, "description": "How many."}},
    });
    let schemas = [
        ("rich", rich.clone()),
        ("bare", json!({})),
        ("text", json!({"type": "string"})),
        ("either", json!({"type": ["object", "null"]})),
        ("broken", json!({"type": "object", "properties": 5})),
        ("nonsense", json!({"type": "object", "properties": {"a": {"type": "klingon"}}})),
        ("elsewhere", json!({"type": "object", "properties": {"a": {"$ref": "https://example.com/s.json"}}})),
        ("large", json!({"type": "object", "description": "x".repeat(70_000)})),
    ];
    let listing = listed(&server(), schemas.map(|(name, schema)| with(tool(name), "inputSchema", schema)));
    let schemas: Vec<_> = listing.tools.iter().map(|tool| tool.schema.clone()).collect();
    assert_eq!(schemas, [rich, json!({"type": "object", "properties": {}})]);
    let reasons = reasons(&listing);
    assert_eq!(reasons[0], ("text", "its input is no object"));
    assert_eq!(reasons[1], ("either", "its input is no object"));
    for (name, reason) in &reasons[2..5] {
        assert!(reason.starts_with("its schema is no JSON Schema: "), "{name}: {reason}");
    }
    assert_eq!(reasons[5], ("large", "its schema is larger than 65536 bytes"));
    let tight = server().with_limits(Limits::default().with_schema_bytes(40));
    assert_eq!(listed(&tight, [tool("small")]).tools.len(), 1);
    assert_eq!(
        listed(&tight, [with(tool("big"), "inputSchema", json!({"title": "x".repeat(30)}))]).tools.len(),
        0
    );
}

/// [MC-7]
#[test]
fn thousands_of_tools_are_bounded() {
    let listing = listed(&server(), (0..500).map(|at| tool(&format!("t{at}"))));
    assert_eq!((listing.tools.len(), listing.refused.len(), listing.more_refused), (128, 100, 272));
    assert_eq!(listing.refused[0].reason, "more than 128 tools are used of this server");
    // A tool that was asked for is found behind those that were not.
    let chosen = server().with_tools(["t499"]);
    assert_eq!(listed(&chosen, (0..500).map(|at| tool(&format!("t{at}")))).tools[0].remote, "t499");
    let mut endless = Collector::new(&chosen);
    let taken = (0..).take_while(|at| endless.offer(tool(&format!("t{at}"))).is_continue()).count();
    assert_eq!(taken, 10_000);
    assert_eq!(endless.finish("srv").refused[0].reason, "the server lists more than 10000 tools");
    let few = server().with_limits(Limits::default().with_tools(3));
    assert_eq!(listed(&few, (0..5).map(|at| tool(&format!("t{at}")))).tools.len(), 3);
}

/// [MC-8]
#[test]
fn descriptions_are_made_fit_to_be_read() {
    let hidden = with(tool("a"), "description", json!("Adds.\u{200b}\u{e0049}gnore\u{7}"));
    let titled = with(json!({"name": "b", "inputSchema": {}}), "title", json!("A title"));
    let hinted =
        json!({"name": "c", "inputSchema": {}, "description": " ", "annotations": {"title": "A hint"}});
    let long = with(tool("d"), "description", json!("x".repeat(20_000)));
    let listing = listed(&server(), [hidden, titled, hinted, long]);
    let described: Vec<_> = listing.tools.iter().map(|tool| tool.description.as_str()).collect();
    assert_eq!(described[..3], ["Adds.gnore", "A title", "A hint"]);
    assert_eq!(described[3], "x".repeat(8 << 10) + "…");
}

/// [MC-9]
#[test]
fn only_tools_that_were_chosen_are_used_and_wrong_names_are_reported() {
    let chosen = server().with_tools(["b", "no-such"]).with_read_only(["c", "nor-such"]);
    let listing = listed(&chosen, ["a", "b", "c"].map(tool));
    assert_eq!(listing.tools.iter().map(|tool| &*tool.remote).collect::<Vec<_>>(), ["b"]);
    let missing = "the settings name it, and the server has no such tool";
    assert_eq!(reasons(&listing), [("no-such", missing), ("nor-such", missing)]);
    assert!(listed(&server().with_tools([] as [&str; 0]), [tool("a")]).tools.is_empty());
}

fn hinted(name: &str, hints: Value) -> Value {
    with(tool(name), "annotations", hints)
}

/// [MC-10]
#[test]
fn a_servers_word_on_effects_counts_only_where_it_is_trusted() {
    let tools = || {
        [
            hinted("reads", json!({"readOnlyHint": true})),
            hinted("puts", json!({"readOnlyHint": false, "idempotentHint": true})),
            hinted("adds", json!({"readOnlyHint": false, "destructiveHint": false})),
            hinted("drops", json!({"destructiveHint": true})),
            tool("silent"),
        ]
    };
    let effects = |settings: &McpServer| {
        let listing = listed(settings, tools());
        listing.tools.iter().map(|tool| (tool.effect, tool.asks)).collect::<Vec<_>>()
    };
    assert_eq!(effects(&server()), [(Effect::SideEffect, true); 5]);
    let side = (Effect::SideEffect, true);
    let trusted = [(Effect::ReadOnly, false), (Effect::Idempotent, true), side, side, side];
    assert_eq!(effects(&server().with_trusted_hints(true)), trusted);
}

/// [MC-11]
#[test]
fn the_application_says_which_calls_are_asked_about() {
    let asks = |settings: McpServer| {
        let settings = settings.with_read_only(["known"]);
        let listing = listed(&settings, ["known", "other"].map(tool));
        listing.tools.iter().map(|tool| tool.asks).collect::<Vec<_>>()
    };
    assert_eq!(asks(server()), [false, true]);
    assert_eq!(asks(server().with_approval(Approval::Effects)), [false, true]);
    assert_eq!(asks(server().with_approval(Approval::Always)), [true, true]);
    assert_eq!(asks(server().with_approval(Approval::Never)), [false, false]);
}
