local seq = redis.call('HGET', INPUTS, 'n' .. ARGV[2])
if not seq then return {} end
return {stored_input(seq)}
