-- ARGV: topic, epoch, fate, ids of inputs.
if fenced(ARGV[2]) then return -1 end
local returned = false
for at = 4, #ARGV do
    if settle_input(ARGV[at], ARGV[3]) then returned = true end
end
if returned then touch() end
return 2
