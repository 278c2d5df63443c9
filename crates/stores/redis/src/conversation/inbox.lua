local waiting = {}
for _, seq in ipairs(redis.call('ZRANGE', QUEUE, 0, -1)) do waiting[#waiting + 1] = stored_input(seq) end
return waiting
