-- How the inputs and rows of a claim stand: ARGV: topic, epoch, how many inputs, their ids, ids of rows.
if fenced(ARGV[2]) then return {-1, {}, {}} end
if redis.call('EXISTS', TOPIC) == 0 then return {0, {}, {}} end
local inputs = tonumber(ARGV[3])
local fates, rows = {}, {}
for at = 4, 3 + inputs do
    local seq = redis.call('HGET', INPUTS, 'n' .. ARGV[at])
    fates[#fates + 1] = seq and redis.call('HGET', INPUTS, 'f' .. seq) or ''
end
for at = 4 + inputs, #ARGV do
    local id = ARGV[at]
    local row = redis.call('HMGET', ROWS, 's' .. id, 't' .. id, 'a' .. id, 'r' .. id)
    rows[#rows + 1] = row[1] and row or {}
end
return {1, fates, rows}
