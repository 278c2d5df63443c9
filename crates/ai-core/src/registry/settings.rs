use std::any::{Any, type_name};
use std::fmt;

use ai_provider::{JsonObject, merge_json};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What the settings of a provider extension can do. Implemented by every type that can do it.
///
/// Equal settings share one provider, so `Eq` decides what a new connection pool is worth: keys belong into
/// it (as [`ApiKey`](ai_provider::ApiKey) or [`Keys`](ai_provider::Keys), which nothing prints), and a
/// transport by the identity of its `Arc`.
pub trait ProviderSettings: Clone + Eq + DeserializeOwned + Send + Sync + 'static {}

impl<T: Clone + Eq + DeserializeOwned + Send + Sync + 'static> ProviderSettings for T {}

/// The settings of an extension that has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}

/// Names a provider and the type of its settings, so that the compiler checks them:
/// see [`Registry::resolve`](super::Registry::resolve).
///
/// ```
/// use ai_core::{NoSettings, ProviderFamily};
///
/// struct Birds;
///
/// impl ProviderFamily for Birds {
///     type Settings = NoSettings;
///     const ID: &'static str = "birds";
/// }
/// ```
pub trait ProviderFamily {
    /// What its extension takes.
    type Settings: ProviderSettings;
    /// The id under which it is registered: a name, an alias, or the id of a variant.
    const ID: &'static str;
}

/// Settings as a caller gives them: none, JSON (from a configuration file) or a value of the extension's own
/// type.
///
/// JSON is merged over the defaults of the extension before it is read; a typed value is taken as it is.
#[derive(Default)]
pub struct GivenSettings(Given);

#[derive(Default)]
enum Given {
    #[default]
    None,
    Json(Value),
    Typed {
        value: Box<dyn Any + Send + Sync>,
        type_name: &'static str,
    },
}

impl GivenSettings {
    /// A value of the extension's own type.
    pub fn typed<S: ProviderSettings>(settings: S) -> Self {
        Self(Given::Typed { value: Box::new(settings), type_name: type_name::<S>() })
    }

    pub(super) fn read<S: ProviderSettings>(self, defaults: &JsonObject) -> Result<S, SettingsProblem> {
        match self.0 {
            Given::None => read(defaults, None),
            Given::Json(json) => read(defaults, Some(json)),
            Given::Typed { value, type_name: given } => match value.downcast::<S>() {
                Ok(settings) => Ok(*settings),
                Err(_) => Err(SettingsProblem::whole(format!(
                    "they are of the type `{given}`, and the extension takes `{}`",
                    type_name::<S>()
                ))),
            },
        }
    }
}

impl From<Value> for GivenSettings {
    fn from(json: Value) -> Self {
        Self(Given::Json(json))
    }
}

impl From<JsonObject> for GivenSettings {
    fn from(json: JsonObject) -> Self {
        Self(Given::Json(Value::Object(json)))
    }
}

/// Shows the form alone: settings hold keys.
impl fmt::Debug for GivenSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Given::None => "GivenSettings(none)",
            Given::Json(_) => "GivenSettings(JSON)",
            Given::Typed { type_name, .. } => return write!(f, "GivenSettings({type_name})"),
        })
    }
}

/// What of settings cannot be read.
#[derive(Debug)]
pub(crate) struct SettingsProblem {
    /// Where; absent if it is the whole of them.
    pub(crate) path: Option<String>,
    /// What is wrong, without the value that is: it may be a key in the wrong place.
    pub(crate) why: String,
}

impl SettingsProblem {
    fn whole(why: impl Into<String>) -> Self {
        Self { path: None, why: why.into() }
    }
}

fn read<S: DeserializeOwned>(defaults: &JsonObject, given: Option<Value>) -> Result<S, SettingsProblem> {
    let mut merged = Value::Object(defaults.clone());
    match given {
        None | Some(Value::Null) => {}
        Some(given @ Value::Object(_)) => merge_json(&mut merged, &given),
        Some(_) => return Err(SettingsProblem::whole("they are no JSON object")),
    }
    serde_path_to_error::deserialize(merged).map_err(|error| {
        let path = error.path().to_string();
        let said = error.into_inner().to_string();
        SettingsProblem { path: (path != ".").then_some(path), why: without_value(&said).to_owned() }
    })
}

/// Serde's words for a wrong value begin with that value; what it expected stands behind.
fn without_value(said: &str) -> &str {
    let shows_value = ["invalid type", "invalid value", "invalid length", "unknown variant"];
    match said.rfind("expected ").and_then(|at| said.get(at..)) {
        Some(expected) if shows_value.iter().any(|start| said.starts_with(start)) => expected,
        _ => said,
    }
}
