-- Events of all kinds, not only pushes. Those of an epic belong to its group.
alter table events
  alter column project_id drop not null,
  add column group_id bigint,
  add constraint events_one_container check (num_nonnulls(project_id, group_id) = 1),
  add constraint events_target_known check (target_type in ('Epic', 'Issue', 'MergeRequest', 'Milestone', 'Note')),
  add constraint events_target_is_whole check ((target_type is null) = (target_id is null));
create index events_of_group on events (group_id, created_at, id) where group_id is not null;
