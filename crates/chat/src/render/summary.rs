use std::time::Duration;

use ai_provider::Usage;

/// What an answer took.
#[derive(Clone, Debug)]
pub(crate) struct Summary<'a> {
    pub(crate) model: &'a str,
    pub(crate) steps: usize,
    pub(crate) usage: &'a Usage,
    /// In the currency of the prices; unknown if one of the models has no price.
    pub(crate) cost: Option<f64>,
    pub(crate) time: Duration,
}

/// `openai:gpt-4.1-mini · 2 steps · 1,204 tokens in (1,024 cached), 96 out (64 reasoning) · 2.4 s`. A number the
/// provider did not give is left out: unknown is not zero.
pub(crate) fn summary_line(summary: &Summary<'_>) -> String {
    let steps = if summary.steps == 1 { "1 step".to_owned() } else { format!("{} steps", summary.steps) };
    let mut parts = vec![summary.model.to_owned(), steps];
    let (input, output) = (&summary.usage.input, &summary.usage.output);
    let detail = |number: Option<u64>, word: &str| match number {
        Some(number) if number > 0 => format!(" ({} {word})", grouped(number)),
        _ => String::new(),
    };
    let input = input
        .total
        .map(|total| format!("{} tokens in{}", grouped(total), detail(input.cache_read, "cached")));
    let unit = if input.is_some() { "" } else { "tokens " };
    let output = output
        .total
        .map(|total| format!("{} {unit}out{}", grouped(total), detail(output.reasoning, "reasoning")));
    match (input, output) {
        (None, None) => parts.push("tokens unknown".to_owned()),
        (input, output) => parts.push(input.into_iter().chain(output).collect::<Vec<_>>().join(", ")),
    }
    if let Some(cost) = summary.cost {
        parts.push(format!("cost {cost:.4}"));
    }
    parts.push(format!("{:.1} s", summary.time.as_secs_f64()));
    parts.join(" · ")
}

/// `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
