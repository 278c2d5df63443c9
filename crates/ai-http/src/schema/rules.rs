/// What one API takes of JSON Schema: data alone. Begin with [`PLAIN`](Self::PLAIN) and say what differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaRules {
    /// What becomes of `$ref`.
    pub refs: Refs,
    /// Whether a type may refer to itself. Only with [`Refs::Keep`].
    pub recursion: bool,
    /// Whether the root must be an object: no union, list or scalar.
    pub object_root: bool,
    /// Whether each schema must say its `type`. A missing one is taken from what else stands there; a schema for
    /// any value at all is then a problem.
    pub typed: bool,
    /// Whether each property must be required. One that was not becomes nullable; if it has a `default`, it is
    /// required as it is, and the default stands in its description.
    pub all_required: bool,
    /// Keys an object does not name.
    pub extra_keys: ExtraKeys,
    /// Objects whose keys are not known beforehand.
    pub maps: Maps,
    /// Whether `oneOf` is taken; else it becomes `anyOf`.
    pub one_of: bool,
    /// Whether `allOf` is taken, and `$ref` with keywords beside it; else they are merged into one schema.
    pub all_of: bool,
    /// How a value that may be null is said, and whether `type` may be a list.
    pub nulls: Nulls,
    /// How fixed values are said.
    pub constants: Constants,
    /// Whether tuples (`prefixItems`) are taken; else they become lists of any of their types.
    pub tuples: bool,
    /// The further keywords that are taken as they are, such as `minimum`; `None` takes all. `type`, `properties`,
    /// `required`, `items`, `anyOf`, `enum` and `description` need not be named.
    pub keywords: Option<&'static [&'static str]>,
    /// The values of `format` that are taken, if `format` is; `None` takes all.
    pub formats: Option<&'static [&'static str]>,
    /// What becomes of keywords that are not taken.
    pub leftover: Leftover,
}

impl SchemaRules {
    /// All of JSON Schema.
    pub const PLAIN: Self = Self {
        refs: Refs::Keep,
        recursion: true,
        object_root: false,
        typed: false,
        all_required: false,
        extra_keys: ExtraKeys::AsGiven,
        maps: Maps::Keep,
        one_of: true,
        all_of: true,
        nulls: Nulls::InType,
        constants: Constants::AsGiven,
        tuples: true,
        keywords: None,
        formats: None,
        leftover: Leftover::Described,
    };
}

/// What becomes of `$ref`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refs {
    /// It stays, and leads into `$defs` of the root.
    Keep,
    /// What it leads to is put in its place.
    Inline,
}

/// What is said about keys an object does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtraKeys {
    /// What the schema says.
    AsGiven,
    /// `additionalProperties: false` at each object.
    Forbidden,
    /// Nothing: the API does not know the keyword.
    Unsaid,
}

/// What becomes of objects whose keys are not known beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maps {
    /// They stay (`additionalProperties` with a schema, `patternProperties`).
    Keep,
    /// An object without keys, and a word in its description.
    Described,
    /// A problem.
    Refused,
}

/// How a value that may be null is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls {
    /// By a list of types, or `anyOf` with the type `null`.
    InType,
    /// By `nullable: true`; other lists of types become `anyOf`.
    Nullable,
}

/// How fixed values are said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constants {
    /// As `const` and `enum`.
    AsGiven,
    /// As `enum`, of strings only; others become words in the description.
    StringEnum,
}

/// What becomes of keywords that are not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// Those that restrict values, and `default`, go to the description; the rest is dropped.
    Described,
    /// All are dropped.
    Dropped,
}
