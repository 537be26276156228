-- Counted when a description is written: a list would read every description on its page. Null is not counted yet.
alter table issues
  add column task_count integer,
  add column completed_task_count integer;
