mod names;
mod round_trip;
mod strict;
