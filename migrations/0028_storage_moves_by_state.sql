-- While a whole storage is emptied millions of moves may be scheduled, among which the few that are started are shown,
-- and those of each storage counted.
create index repository_storage_moves_by_state on repository_storage_moves (state, source_storage)
  where state in ('scheduled', 'started');
