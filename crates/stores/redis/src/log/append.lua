-- KEYS: epochs of the group, the log, its snapshot. ARGV: topic, epoch, what to trim before (an id, or nothing), how long
-- it is kept (ms, or nothing), through and chunks of a snapshot (or nothing), then of each entry its id, the number of its
-- first record, its kind and what it holds. -1: another owner; -2: the log is gone.
local seen = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0')
if tonumber(ARGV[2]) < seen then return -1 end
for at = 7, #ARGV, 4 do
    local id = ARGV[at]
    local added = redis.pcall('XADD', KEYS[2], 'NOMKSTREAM', id, 'f', ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
    if not added then return -2 end
    if type(added) == 'table' and added.err then
        if not string.find(added.err, 'equal or smaller', 1, true) then return added end
        -- Sent before, or somebody sealed the log under a greater epoch.
        if #redis.call('XRANGE', KEYS[2], id, id) == 0 then return -1 end
    end
end
if ARGV[5] ~= '' then redis.call('HSET', KEYS[3], 'through', ARGV[5], 'chunks', ARGV[6]) end
if ARGV[3] ~= '' then redis.call('XTRIM', KEYS[2], 'MINID', '~', ARGV[3]) end
if ARGV[4] ~= '' then
    redis.call('PEXPIRE', KEYS[2], ARGV[4])
    redis.call('PEXPIRE', KEYS[3], ARGV[4])
end
return 1
