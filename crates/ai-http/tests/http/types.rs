//! What the compiler proves: traits that can be boxed, types that can cross threads.

use std::sync::Arc;

use ai_http::{
    Authorize, Bearer, Body, Codec, Decoder, Endpoint, Event, ExpiringToken, Framer, Framing, FreshToken,
    HeaderKey, HttpCall, HttpModel, HttpResponse, IdSeed, Limits, LinesFramer, Parts, ReqwestTransport,
    SseFramer, Timeouts, Transport, WholeFramer,
};

use crate::api::Api;

const fn send<T: Send>() {}
const fn send_sync<T: Send + Sync>() {}

const _: () = {
    send_sync::<HttpModel<Api>>();
    send_sync::<HttpCall>();
    send_sync::<ReqwestTransport>();
    send_sync::<(Bearer, HeaderKey, ExpiringToken, FreshToken)>();
    send_sync::<(Limits, Timeouts, Endpoint, IdSeed, Parts, Event<'_>)>();
    send_sync::<(SseFramer, LinesFramer, WholeFramer)>();
    send_sync::<(Arc<dyn Codec>, Arc<dyn Transport>, Arc<dyn Authorize>)>();
    send::<(Box<dyn Decoder>, Box<dyn Framer>, Body, HttpResponse, Framing)>();
};
