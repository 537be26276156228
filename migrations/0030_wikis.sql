-- The wikis of projects and groups: each has a repository of its own, from its first page or push on.
alter table repositories
  add column wiki_project_id bigint
    constraint repositories_wiki_project_id_fkey references projects on delete cascade
    constraint repositories_one_wiki_per_project unique,
  add column wiki_group_id bigint
    constraint repositories_wiki_group_id_fkey references namespaces on delete cascade
    constraint repositories_one_wiki_per_group unique;
create index repositories_of_groups_on_storage on repositories (storage, id) where wiki_group_id is not null;

alter table repository_storage_moves
  add column group_id bigint constraint repository_storage_moves_group_id_fkey references namespaces on delete cascade;
create index repository_storage_moves_of_group on repository_storage_moves (group_id, id) where group_id is not null;
create index repository_storage_moves_of_groups on repository_storage_moves (id) where group_id is not null;
