if redis.call('EXISTS', TOPIC) == 0 then return {} end
return {{redis.call('HGETALL', ROWS), redis.call('HGETALL', INPUTS)}}
