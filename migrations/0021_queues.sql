-- News about issues and epics must not delay mail about accounts, nor a silent host the jobs that need none.
select jobs.create_queue(name, jsonb_build_object(
  'policy', 'standard', 'retryLimit', 20, 'retryDelay', 1, 'retryBackoff', true, 'retryDelayMax', 3600,
  'heartbeatSeconds', 10, 'expireInSeconds', 900, 'retentionSeconds', 315360000, 'deleteAfterSeconds', 3600,
  'deadLetter', 'dead', 'notify', true
))
from (values ('notifications'), ('outbound')) as queues (name);

-- How many mails what somebody wrote has caused in an hour.
create table mail_counts (
  author_id bigint primary key constraint mail_counts_author_id_fkey references users on delete cascade,
  hour timestamptz(3) not null,
  count integer not null
);
