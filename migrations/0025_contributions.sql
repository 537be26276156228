-- How much each user did in each project on each day that is over.
create table contributions (
  author_id bigint not null references users on delete cascade,
  day date not null,
  project_id bigint not null references projects on delete cascade,
  -- What somebody must be able to see in the project to see the events that are counted.
  requires text not null,
  count integer not null,
  constraint contributions_requires_known
    check (requires in ('project', 'repository', 'issues', 'merge_requests', 'confidential')),
  constraint contributions_count_positive check (count > 0)
);
create unique index contributions_of_author on contributions (author_id, day, project_id, requires);
create index contributions_of_project on contributions (project_id);
create index contributions_by_day on contributions (day);
