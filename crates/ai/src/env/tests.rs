use super::*;

fn keys(value: Option<&str>) -> EnvKeys {
    EnvKeys::from_value("SOME_KEY".to_owned(), value.map(str::to_owned))
}

#[tokio::test]
async fn keys_are_read_from_the_variable() {
    let several = keys(Some("k1, k2"));
    assert_eq!(several.labels().len(), 2);
    assert_eq!(several.key(1).await.unwrap().unwrap().expose(), "k2");
}

#[tokio::test]
async fn what_is_missing_or_wrong_is_said_by_name_and_without_the_key() {
    for (value, says) in [
        (None, "set the environment variable SOME_KEY"),
        (Some(" "), "blank"),
        (Some("se\ncret"), "SOME_KEY"),
    ] {
        let keys = keys(value);
        assert!(keys.labels().is_empty());
        let error = keys.key(0).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Auth);
        assert!(error.to_string().contains(says), "{error}");
        assert!(!format!("{error:?} {keys:?}").contains("cret"), "{error:?}");
    }
}
