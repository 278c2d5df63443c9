use ai_provider::ErrorClass;

/// What a code or type says.
pub(super) enum Named {
    /// What failed.
    Exact(ErrorClass),
    /// Only whose fault it was: many kinds of failure go by this name.
    General(ErrorClass),
}

/// Beginnings, endings and middles of codes and types, as OpenAI and the servers like it name their errors.
/// The first that is found counts.
const EXACT: &[(ErrorClass, &[&str])] = &[
    (
        ErrorClass::StaleReplay,
        &["invalid_encrypted_content", "invalid_signature", "previous_response_not_found"],
    ),
    (
        ErrorClass::ContextTooLong,
        &[
            "context_length",
            "context_window",
            "exceed_context",
            "prompt_too_long",
            "max_prompt_tokens",
            "request_too_large",
        ],
    ),
    (
        ErrorClass::Quota,
        &[
            "insufficient_quota",
            "insufficient_balance",
            "insufficient_credit",
            "exceeded_current_quota",
            "quota_exceeded",
            "billing",
            "arrearage",
            "credit_balance",
            "payment_required",
        ],
    ),
    (
        ErrorClass::ContentRefused,
        &[
            "content_filter",
            "content_policy",
            "cyber_policy",
            "policy_violation",
            "content_management",
            "data_inspection_failed",
            "responsibleai",
            "moderation",
            "invalid_prompt",
        ],
    ),
    (
        ErrorClass::RateLimit,
        &["rate_limit", "ratelimit", "too_many_requests", "throttling", "resource_exhausted"],
    ),
    (ErrorClass::Overloaded, &["overload", "unavailable", "no_capacity", "over_capacity", "slow_down"]),
    (
        ErrorClass::Auth,
        &[
            "api_key",
            "authentication",
            "unauthenticated",
            "unauthorized",
            "permission",
            "forbidden",
            "access_denied",
            "account_deactivated",
        ],
    ),
    (ErrorClass::NotFound, &["not_found", "notfound", "not_exist", "unknown_model"]),
    (ErrorClass::Timeout, &["timeout", "timed_out", "deadline_exceeded"]),
];

const GENERAL: &[(ErrorClass, &[&str])] = &[
    (ErrorClass::InvalidRequest, &["invalid", "bad_request", "badrequest", "validation", "unsupported"]),
    (ErrorClass::Server, &["server_error", "internal", "api_error"]),
];

pub(super) fn class(name: &str) -> Option<Named> {
    let name: String =
        name.chars().map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    // OpenAI's types for limits on requests and tokens per minute.
    if matches!(name.as_str(), "requests" | "tokens") {
        return Some(Named::Exact(ErrorClass::RateLimit));
    }
    let find = |table: &[(ErrorClass, &[&str])]| {
        table.iter().find(|(_, parts)| parts.iter().any(|part| name.contains(part))).map(|(class, _)| *class)
    };
    find(EXACT).map(Named::Exact).or_else(|| find(GENERAL).map(Named::General))
}

/// What the words of a message make of a class that says little: the last resort, since words change.
pub(super) fn class_of_words(message: &str, class: ErrorClass) -> Option<ErrorClass> {
    const CONTEXT: &[&str] = &[
        "context length",
        "context window",
        "context size",
        "maximum prompt length",
        "model token limit",
        "prompt is too long",
        "prompt too long",
        "input is too long",
        "input length",
        "too many tokens",
        "reduce the length",
    ];
    const QUOTA: &[&str] = &[
        "insufficient_quota",
        "insufficient balance",
        "insufficient credit",
        "credit balance",
        "current quota",
        "api usage limits",
    ];
    // A wrong key that a server calls an invalid request.
    const KEY: &[&str] = &[
        "incorrect api key",
        "invalid api key",
        "api key not valid",
        "api key expired",
        "invalid x-api-key",
    ];
    // What a history holds that its maker no longer takes back: references to items, encrypted or signed reasoning.
    const STALE: &[&str] = &[
        "item with id",
        "items are not persisted",
        "encrypted content could not be",
        "encrypted content for item",
        "without its required",
        "invalid `signature`",
        "invalid signature in",
        "thought signature is not valid",
        "corrupted thought signature",
    ];
    let message = message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|words| message.contains(words));
    match class {
        ErrorClass::InvalidRequest | ErrorClass::Server | ErrorClass::Protocol if says(CONTEXT) => {
            Some(ErrorClass::ContextTooLong)
        }
        ErrorClass::RateLimit | ErrorClass::Auth | ErrorClass::InvalidRequest | ErrorClass::Protocol
            if says(QUOTA) =>
        {
            Some(ErrorClass::Quota)
        }
        ErrorClass::InvalidRequest | ErrorClass::NotFound if says(STALE) => Some(ErrorClass::StaleReplay),
        ErrorClass::InvalidRequest | ErrorClass::Protocol if says(KEY) => Some(ErrorClass::Auth),
        _ => None,
    }
}

/// What the words of a message make of a class by name that holds failures of two kinds: a limit that passes and one
/// that this request is above for good, a key without rights and an account without credit.
pub(super) fn class_of_words_within(message: &str, class: ErrorClass) -> Option<ErrorClass> {
    // Of a request that is larger than all that a minute allows.
    const NEVER_FITS: &[&str] = &["request too large", "tokens must be reduced"];
    const NO_CREDIT: &[&str] =
        &["used all available credits", "spending limit", "purchase credits", "extra usage is required"];
    let message = message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|words| message.contains(words));
    match class {
        ErrorClass::RateLimit if says(NEVER_FITS) => Some(ErrorClass::ContextTooLong),
        ErrorClass::RateLimit | ErrorClass::Auth if says(NO_CREDIT) => Some(ErrorClass::Quota),
        _ => None,
    }
}
