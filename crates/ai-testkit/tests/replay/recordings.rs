use std::sync::Arc;

use ai_testkit::Cut;
use ai_testkit::recordings::{Expected, RecordedDelivery, compare, expected, require};
use ai_testkit::replay::{Api, Loopback, PLACE, Recording, Target, ask, print};

use crate::outcome::{outcome, values};

/// The rows of an API, at least so many: whole, per event, a byte at a time and cut at random.
async fn all(api: Api, at_least: usize) {
    let Some(folder) = require() else { return };
    let rows: Vec<Expected> =
        expected(&folder).unwrap().into_iter().filter(|row| row.api == api.name()).collect();
    assert!(rows.len() >= at_least, "{} rows of {}", rows.len(), api.name());
    // One for all: setting up a client takes longer than most answers.
    let loopback = Arc::new(Loopback::start([]).unwrap());
    for row in rows {
        let recording = Recording::read(&row.api, &folder.join(&row.file)).unwrap();
        let target = Target {
            base_url: PLACE.to_owned(),
            dialect: row.dialect.clone(),
            model: "model".to_owned(),
            key: None,
            transport: Arc::<Loopback>::clone(&loopback),
        };
        let model = api.model(target).unwrap();
        let cuts = [Cut::Whole, Cut::Event, Cut::Every(1)].into_iter().chain((0..100).map(Cut::Random));
        let mut first = None;
        for cut in cuts {
            loopback.reply(recording.reply(row.status, cut.clone()));
            let mut output = Vec::new();
            let whole = row.delivery == RecordedDelivery::Whole;
            let finished = print(ask(&*model, "Hi", whole), &mut output).await.unwrap();
            assert_eq!(finished, !row.asserted.contains_key("error"), "{}", row.file);
            let first = first.get_or_insert_with(|| output.clone());
            assert_eq!(*first, output, "{} cut {cut:?}", row.file);
        }
        let found = compare(&row, &outcome(&values(&first.unwrap())));
        assert!(found.is_empty(), "{}: {found:#?}", row.file);
    }
}

#[tokio::test]
async fn openai_chat() {
    all(Api::OpenAiChat, 19).await;
}

#[tokio::test]
async fn openai_responses() {
    all(Api::OpenAiResponses, 11).await;
}

#[tokio::test]
async fn anthropic_messages() {
    all(Api::AnthropicMessages, 9).await;
}

#[tokio::test]
async fn google_generate_content() {
    all(Api::GoogleGenerateContent, 6).await;
}

/// Every row belongs to one of these APIs, or to the example of a custom provider.
#[test]
fn no_row_is_left_out() {
    let Some(folder) = require() else { return };
    let apis = [Api::OpenAiChat, Api::OpenAiResponses, Api::AnthropicMessages, Api::GoogleGenerateContent];
    for row in expected(&folder).unwrap() {
        let ours = apis.iter().any(|api| api.name() == row.api);
        assert!(ours || row.api == "cohere-chat", "{} of {}", row.file, row.api);
    }
}
