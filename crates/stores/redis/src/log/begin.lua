-- What a reader begins anew with. KEYS: the log, its snapshot.
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if not last then return {} end
local snapshot = redis.call('HMGET', KEYS[2], 'row', 'through', 'chunks')
if not snapshot[1] then return {} end
return {last[1], snapshot[1], snapshot[2], snapshot[3]}
