-- The open rows, in their order: head, status, created at, written at, content.
local rows = {}
for _, id in ipairs(redis.call('ZRANGE', PENDING, 0, -1)) do
    rows[#rows + 1] = redis.call('HMGET', ROWS, 'h' .. id, 's' .. id, '@' .. id, 'w' .. id, 'c' .. id)
end
return rows
