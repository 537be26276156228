-- The tables of the job engine, in the schema `jobs`, are made here and by no process that only uses them: a web process
-- then needs no right to make tables, and no two can race to.
-- include job engine

-- Rows come and go all the time, and what is gone slows the next fetch until it is swept.
alter table jobs.job_common set (
  autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_threshold = 5000, autovacuum_analyze_scale_factor = 0.1
);

-- What such a table holds changes faster than statistics of it are taken. Believing that a queue is empty, PostgreSQL
-- reads all of it for each row that it fetches; knowing nothing of names and states, it takes the primary key.
alter table jobs.job_common alter column name set statistics 0, alter column state set statistics 0;

-- A job that used up its retries waits half a year in "dead" to be looked at or tried again; nothing that waits in
-- another queue is given up. A worker that says nothing for 10 seconds has lost its job.
select jobs.create_queue('dead', jsonb_build_object('policy', 'standard', 'retentionSeconds', 15552000));
select jobs.create_queue(name, jsonb_build_object(
  'policy', 'standard', 'retryLimit', 20, 'retryDelay', 1, 'retryBackoff', true, 'retryDelayMax', 3600,
  'heartbeatSeconds', 10, 'expireInSeconds', expire, 'retentionSeconds', 315360000, 'deleteAfterSeconds', 3600,
  'deadLetter', 'dead', 'notify', true
))
from (
  values ('critical', 900), ('default', 900), ('mail', 900), ('ingest', 900), ('git', 86400), ('bulk', 86400)
) as queues (name, expire);

-- How many attempts at jobs ever ended, and how many of them badly; in many rows, so that workers do not queue for one.
create table job_totals (
  stripe smallint primary key,
  processed bigint not null default 0,
  failed bigint not null default 0
) with (fillfactor = 50);

-- Counted by the statement that ends an attempt, whoever runs it, so no crash can part the two. The row of a finished
-- job is deleted; that of a failed one, or of one whose worker was lost, is deleted and put back. The engine's own
-- queues begin with two underscores and do not count.
create function count_ended_attempts() returns trigger language plpgsql as $$
declare
  ended bigint;
begin
  select count(*) into ended from gone where state = 'active' and left(name, 2) <> '__';
  if ended > 0 then
    insert into public.job_totals (stripe, processed) values (pg_backend_pid() % 32, ended)
    on conflict (stripe) do update set processed = job_totals.processed + excluded.processed;
  end if;
  return null;
end $$;
create trigger count_ended_attempts after delete on jobs.job_common
  referencing old table as gone for each statement execute function count_ended_attempts();

create function count_failed_attempt() returns trigger language plpgsql as $$
begin
  insert into public.job_totals (stripe, failed) values (pg_backend_pid() % 32, 1)
  on conflict (stripe) do update set failed = job_totals.failed + excluded.failed;
  return null;
end $$;
create trigger count_failed_attempt after insert on jobs.job_common
  for each row when (new.state in ('retry', 'failed') and left(new.name, 2) <> '__')
  execute function count_failed_attempt();
