-- Writes an open row. ARGV: topic, epoch, row, attempt, content, run, status or nothing (a checkpoint), then of each input
-- that is returned its id and its fate.
if fenced(ARGV[2]) then return -1 end
if redis.call('EXISTS', TOPIC) == 0 then return 0 end
local returned = false
for at = 8, #ARGV, 2 do
    if settle_input(ARGV[at], ARGV[at + 1]) then returned = true end
end
if returned then touch() end
local id, new = ARGV[3], ARGV[7]
local row = redis.call('HMGET', ROWS, 's' .. id, 'a' .. id)
local status = row[1]
if not status then return 0 end
local may = status == '"open"' or (new ~= '' and status == '"awaiting_approval"')
if not may or row[2] ~= ARGV[4] then return 1 end
redis.call('HSET', ROWS, 'c' .. id, ARGV[5], 'r' .. id, ARGV[6], 'w' .. id, touch())
if new ~= '' then
    redis.call('HSET', ROWS, 's' .. id, new)
    is_open(id, new)
end
return 2
