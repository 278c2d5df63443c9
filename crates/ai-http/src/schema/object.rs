use std::collections::BTreeSet;

use ai_provider::JsonObject;
use serde_json::{Value, json};

use super::keywords::Notes;
use super::nullable::nullable;
use super::path::Path;
use super::walk::Walker;
use super::{ExtraKeys, Maps, SchemaProblem, bounds};

impl Walker<'_> {
    pub(super) fn object(
        &mut self,
        schema: &JsonObject,
        out: &mut JsonObject,
        notes: &mut Notes,
        path: &Path<'_>,
    ) -> Result<(), SchemaProblem> {
        let none = JsonObject::new();
        let given = match schema.get("properties") {
            None => &none,
            Some(Value::Object(properties)) => properties,
            Some(_) => return Err(path.problem("`properties` is no object")),
        };
        let required = required(schema, given, path)?;
        let needed: BTreeSet<_> = required.iter().copied().collect();
        let mut properties = JsonObject::new();
        for (name, property) in given {
            let path = path.key("properties");
            let path = path.key(name);
            self.spend(name.len() / 64, &path)?;
            let mut rewritten = self.node(property, &path)?;
            let has_default = property.get("default").is_some_and(|default| !default.is_null());
            if self.rules.all_required && !needed.contains(name.as_str()) && !has_default {
                rewritten = nullable(rewritten, self.rules.nulls);
            }
            properties.insert(name.clone(), Value::Object(rewritten));
        }
        let required: Vec<_> = match self.rules.all_required {
            true => given.keys().map(String::as_str).collect(),
            false => required,
        };
        let closed = self.rules.extra_keys == ExtraKeys::Forbidden;
        if !properties.is_empty() || closed || schema.contains_key("properties") {
            out.insert("properties".into(), Value::Object(properties));
        }
        if !required.is_empty() || closed {
            out.insert("required".into(), required.into());
        }
        self.further_keys(schema, given.is_empty(), out, notes, path)
    }

    fn further_keys(
        &mut self,
        schema: &JsonObject,
        unnamed: bool,
        out: &mut JsonObject,
        notes: &mut Notes,
        path: &Path<'_>,
    ) -> Result<(), SchemaProblem> {
        let said = schema.get("additionalProperties").or_else(|| schema.get("unevaluatedProperties"));
        let patterns = schema.get("patternProperties").filter(|patterns| **patterns != json!({}));
        let is_map = patterns.is_some()
            || match said {
                Some(Value::Bool(false)) => false,
                Some(Value::Object(values)) if !values.is_empty() => true,
                // Of an object that is closed to be sent, keys nobody named are no loss; unless there are no others.
                Some(_) => unnamed,
                None => unnamed && !schema.contains_key("properties") && !self.at_root(),
            };
        match (is_map, self.rules.maps) {
            (true, Maps::Refused) => {
                return Err(path.problem(
                    "an object with keys of any name, which this API cannot say (one without keys needs `properties: {}`)",
                ));
            }
            (true, Maps::Described) => {
                for keyword in ["additionalProperties", "patternProperties"] {
                    if let Some(values @ Value::Object(_)) = schema.get(keyword) {
                        self.spend(bounds::size_of(values), path)?;
                        notes.add(keyword, values);
                    }
                }
            }
            (true, Maps::Keep) => {
                if let Some(values) = said {
                    let values = match values {
                        Value::Object(_) => self.node(values, &path.key("additionalProperties"))?.into(),
                        other => other.clone(),
                    };
                    out.insert("additionalProperties".into(), values);
                }
                if let Some(Value::Object(patterns)) = patterns {
                    let mut kept = JsonObject::new();
                    for (pattern, values) in patterns {
                        let path = path.key("patternProperties");
                        kept.insert(pattern.clone(), self.node(values, &path.key(pattern))?.into());
                    }
                    out.insert("patternProperties".into(), kept.into());
                }
            }
            (false, _) => match (self.rules.extra_keys, said) {
                (ExtraKeys::Forbidden, _) => drop(out.insert("additionalProperties".into(), false.into())),
                (ExtraKeys::AsGiven, Some(said)) => {
                    out.insert("additionalProperties".into(), said.clone());
                }
                _ => {}
            },
        }
        Ok(())
    }

    pub(super) fn list(
        &mut self,
        schema: &JsonObject,
        out: &mut JsonObject,
        notes: &mut Notes,
        path: &Path<'_>,
    ) -> Result<(), SchemaProblem> {
        // A list of schemas under `items` is how older drafts write a tuple, and `additionalItems` its rest.
        let (tuple, keyword, rest, rest_keyword) = match (schema.get("prefixItems"), schema.get("items")) {
            (None, Some(tuple @ Value::Array(_))) => {
                (Some(tuple), "items", schema.get("additionalItems"), "additionalItems")
            }
            (tuple, rest) => (tuple, "prefixItems", rest, "items"),
        };
        let rest_path = path.key(rest_keyword);
        let Some(tuple) = tuple else {
            return match rest {
                Some(items) => {
                    let items = self.node(items, &rest_path)?;
                    out.insert("items".into(), items.into());
                    Ok(())
                }
                None if self.rules.typed => Err(path.problem("a list must say what it holds (`items`)")),
                None => Ok(()),
            };
        };
        let Value::Array(places) = tuple else { return Err(path.problem(format!("`{keyword}` is no list"))) };
        let mut rewritten = Vec::with_capacity(places.len());
        for (index, place) in places.iter().enumerate() {
            rewritten.push(Value::Object(self.node(place, &path.key(keyword).index(index))?));
        }
        let rest = match rest {
            Some(rest @ Value::Object(_)) => Some(Value::Object(self.node(rest, &rest_path)?)),
            Some(Value::Bool(open)) => (!open).then_some(Value::Bool(false)),
            _ => None,
        };
        if self.rules.tuples {
            out.insert("prefixItems".into(), rewritten.into());
            out.extend(rest.map(|rest| ("items".to_owned(), rest)));
            return Ok(());
        }
        self.spend(bounds::size_of(tuple), path)?;
        notes.add("items in this order", tuple);
        rewritten.extend(rest.filter(Value::is_object));
        let mut seen = BTreeSet::new();
        let distinct: Vec<_> = rewritten.into_iter().filter(|place| seen.insert(place.to_string())).collect();
        let items = match distinct.as_slice() {
            [] => return Err(path.problem("a list must say what it holds (`items`)")),
            [only] => only.clone(),
            _ => json!({ "anyOf": distinct }),
        };
        out.insert("items".into(), items);
        Ok(())
    }
}

fn required<'a>(
    schema: &'a JsonObject,
    properties: &JsonObject,
    path: &Path<'_>,
) -> Result<Vec<&'a str>, SchemaProblem> {
    let names = match schema.get("required") {
        None => return Ok(Vec::new()),
        Some(Value::Array(names)) => names,
        Some(_) => return Err(path.problem("`required` is no list of names")),
    };
    let mut known = Vec::with_capacity(names.len());
    for name in names {
        match name.as_str() {
            None => return Err(path.problem("`required` is no list of names")),
            Some(name) if !properties.contains_key(name) && !properties.is_empty() => {
                return Err(path.problem(format!("`{name}` is required, but no property")));
            }
            Some(name) => known.push(name),
        }
    }
    Ok(known)
}
