-- ARGV: topic, epoch, fate, how many inputs, their ids; then of each row: id, what it was thought to be (status, turn,
-- attempt, run; empty if it was not there), head, status, turn, attempt, run, content, created at, written at.
if fenced(ARGV[2]) then return -1 end
if redis.call('EXISTS', TOPIC) == 0 then return 0 end
local inputs = tonumber(ARGV[4])
local first = 5 + inputs
for at = 5, 4 + inputs do
    local seq = redis.call('HGET', INPUTS, 'n' .. ARGV[at])
    if not seq or redis.call('HGET', INPUTS, 'f' .. seq) ~= QUEUED then return 1 end
end
for at = first, #ARGV, 13 do
    local id = ARGV[at]
    local row = redis.call('HMGET', ROWS, 's' .. id, 't' .. id, 'a' .. id, 'r' .. id)
    for field = 1, 4 do
        if (row[field] or '') ~= ARGV[at + field] then return 1 end
    end
end
for at = 5, 4 + inputs do settle_input(ARGV[at], ARGV[3]) end
for at = first, #ARGV, 13 do
    local id = ARGV[at]
    local created = ARGV[at + 11]
    if redis.call('HEXISTS', ROWS, 's' .. id) == 1 then
        created = redis.call('HGET', ROWS, '@' .. id)
    else
        redis.call('HSET', ROWS, 'p' .. id, redis.call('HINCRBY', TOPIC, 'rows', 1))
    end
    redis.call('HSET', ROWS, 'h' .. id, ARGV[at + 5], 's' .. id, ARGV[at + 6], 't' .. id, ARGV[at + 7],
        'a' .. id, ARGV[at + 8], 'r' .. id, ARGV[at + 9], 'c' .. id, ARGV[at + 10], '@' .. id, created,
        'w' .. id, ARGV[at + 12])
    is_open(id, ARGV[at + 6])
end
touch()
return 2
