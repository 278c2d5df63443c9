fn main() {
    bench_peer::main::<peer_ours::Adapter<peer_ours::Gemini>>();
}
