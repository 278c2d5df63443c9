//! The layer table of `docs/architecture.md` as data, and the numbers that go with it.

/// What one of our packages is, and which of our packages it may use.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) package: &'static str,
    pub(super) role: Role,
    pub(super) uses: Uses,
    /// Features of tokio that its code may name; `None`: may not name tokio at all.
    pub(super) tokio: Option<&'static [&'static str]>,
}

/// Ours that the code of a package (normal and build dependencies) may use.
#[derive(Debug)]
pub(super) enum Uses {
    Only(&'static [&'static str]),
    /// Every library but the facade.
    Libraries,
    Everything,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Builds with [`MSRV`].
    Core,
    /// A library that may need a newer compiler.
    Leaf,
    /// A program or a test: may use any external crate.
    Tool,
}

/// The rust-version that every [`Role::Core`] package declares, and none of its dependencies may pass.
pub(super) const MSRV: &str = "1.88";

/// Tokio with whatever features.
const ANY: &[&str] = &["*"];

/// Bottom-up: what a package may use stands above it.
pub(super) const LAYERS: &[Layer] = &[
    Layer { package: "ai-provider", role: Role::Core, uses: Uses::Only(&[]), tokio: None },
    Layer {
        package: "ai-http",
        role: Role::Core,
        uses: Uses::Only(&["ai-provider"]),
        tokio: Some(&["net", "sync", "time"]),
    },
    Layer {
        package: "ai-openai",
        role: Role::Core,
        uses: Uses::Only(&["ai-provider", "ai-http"]),
        tokio: None,
    },
    Layer {
        package: "ai-anthropic",
        role: Role::Core,
        uses: Uses::Only(&["ai-provider", "ai-http"]),
        tokio: None,
    },
    Layer {
        package: "ai-google",
        role: Role::Core,
        uses: Uses::Only(&["ai-provider", "ai-http"]),
        tokio: None,
    },
    Layer {
        package: "ai-core",
        role: Role::Core,
        uses: Uses::Only(&["ai-provider"]),
        tokio: Some(&["time", "rt"]),
    },
    Layer { package: "retry", role: Role::Core, uses: Uses::Only(&["ai-provider"]), tokio: Some(&["time"]) },
    Layer {
        package: "agent-loop",
        role: Role::Core,
        uses: Uses::Only(&["ai-provider", "ai-core"]),
        tokio: Some(&["time"]),
    },
    Layer {
        package: "stream-manager",
        role: Role::Core,
        uses: Uses::Only(&["ai-provider", "ai-core", "agent-loop"]),
        tokio: Some(&["macros", "rt", "sync", "time"]),
    },
    Layer {
        package: "stream-store-sqlite",
        role: Role::Leaf,
        uses: Uses::Only(&["stream-manager"]),
        tokio: Some(ANY),
    },
    Layer {
        package: "stream-store-redis",
        role: Role::Leaf,
        uses: Uses::Only(&["stream-manager"]),
        tokio: Some(ANY),
    },
    Layer {
        package: "ai-mcp",
        role: Role::Leaf,
        uses: Uses::Only(&["ai-provider", "ai-core"]),
        tokio: Some(ANY),
    },
    Layer { package: "ai", role: Role::Leaf, uses: Uses::Libraries, tokio: None },
    Layer { package: "ai-testkit", role: Role::Tool, uses: Uses::Libraries, tokio: Some(ANY) },
    Layer { package: "chat", role: Role::Tool, uses: Uses::Everything, tokio: Some(ANY) },
    Layer { package: "scenarios", role: Role::Tool, uses: Uses::Everything, tokio: Some(ANY) },
    Layer { package: "type-promises", role: Role::Tool, uses: Uses::Only(&["ai-core"]), tokio: None },
    Layer { package: "xtask", role: Role::Tool, uses: Uses::Only(&[]), tokio: None },
];

/// Packages below `examples/` are one each and free to use everything.
pub(super) const EXAMPLE: Layer =
    Layer { package: "(example)", role: Role::Tool, uses: Uses::Everything, tokio: Some(ANY) };

/// The facade over all libraries, used by programs only.
pub(super) const FACADE: &str = "ai";

/// The kit: tests and examples use it, code does not.
pub(super) const FOR_TESTS: &str = "ai-testkit";

/// Packages whose code is tests.
pub(super) const TEST_PROGRAMS: &[&str] = &["scenarios", "type-promises"];

/// External crates that one library owns; the others reach what they do through that library or not at all.
pub(super) const OWNED: &[(&str, &str)] = &[
    ("reqwest", "ai-http"),
    ("schemars", "ai-core"),
    ("backon", "retry"),
    ("dashmap", "stream-manager"),
    ("rusqlite", "stream-store-sqlite"),
    ("redis", "stream-store-redis"),
    ("rmcp", "ai-mcp"),
];

/// External crates for programs and tests only. The two readers of event streams have faults that ai-http's own has
/// not: quadratic on long lines, and a POST sent again when its answer breaks off.
pub(super) const PROGRAMS_ONLY: &[&str] =
    &["axum", "clap", "eventsource-stream", "hyper", "reqwest-eventsource", "tracing-subscriber"];

/// How many external crates a user of these packages gets, at most.
pub(super) const LIMITS: &[(&[&str], usize)] = &[
    (&["ai-provider"], 30),
    (&["retry"], 45),
    (&["ai-core"], 55),
    (&["ai-core", "ai-openai"], 120),
    (&["ai-core", "ai-anthropic"], 120),
    (&["ai-core", "ai-google"], 120),
];
