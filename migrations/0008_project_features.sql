-- Who each feature of a project is for, in columns and no longer in `preferences`: lists of many projects' issues, merge
-- requests and events filter by it.
alter table projects
  add column issues_access_level text not null default 'enabled',
  add column merge_requests_access_level text not null default 'enabled',
  add column repository_access_level text not null default 'enabled',
  add column wiki_access_level text not null default 'enabled',
  add column snippets_access_level text not null default 'enabled',
  add column monitor_access_level text not null default 'enabled',
  add column security_and_compliance_access_level text not null default 'private',
  -- Validated in the next file, so that no scan of the table holds this lock.
  add constraint projects_issues_access_known
    check (issues_access_level in ('disabled', 'private', 'enabled')) not valid,
  add constraint projects_merge_requests_access_known
    check (merge_requests_access_level in ('disabled', 'private', 'enabled')) not valid,
  add constraint projects_repository_access_known
    check (repository_access_level in ('disabled', 'private', 'enabled')) not valid,
  add constraint projects_wiki_access_known
    check (wiki_access_level in ('disabled', 'private', 'enabled')) not valid,
  add constraint projects_snippets_access_known
    check (snippets_access_level in ('disabled', 'private', 'enabled')) not valid,
  add constraint projects_monitor_access_known
    check (monitor_access_level in ('disabled', 'private', 'enabled')) not valid,
  add constraint projects_security_access_known
    check (security_and_compliance_access_level in ('disabled', 'private', 'enabled')) not valid;

-- The release before reads and writes these levels as keys of `preferences`. Until it is gone, what one release writes is
-- copied to where the other reads; a later migration drops the trigger and the keys.
create function copy_project_features() returns trigger language plpgsql as $$
declare
  now_is constant jsonb := to_jsonb(new);
  before constant jsonb := case when tg_op = 'UPDATE' then to_jsonb(old) end;
  feature text;
  fallback text;
  chosen text;
begin
  for feature, fallback in values
    ('issues_access_level', 'enabled'), ('merge_requests_access_level', 'enabled'),
    ('repository_access_level', 'enabled'), ('wiki_access_level', 'enabled'), ('snippets_access_level', 'enabled'),
    ('monitor_access_level', 'enabled'), ('security_and_compliance_access_level', 'private')
  loop
    chosen := now_is -> 'preferences' ->> feature;
    if chosen is distinct from (before -> 'preferences' ->> feature) then
      new := jsonb_populate_record(new, jsonb_build_object(feature, coalesce(chosen, fallback)));
    elsif now_is ->> feature is distinct from coalesce(before ->> feature, fallback) then
      new.preferences := new.preferences || jsonb_build_object(feature, now_is ->> feature);
    end if;
  end loop;
  return new;
end $$;

create trigger copy_inserted_features before insert on projects for each row
  when (new.preferences <> '{}' or 'disabled' in (
    new.issues_access_level, new.merge_requests_access_level, new.repository_access_level, new.wiki_access_level,
    new.snippets_access_level, new.monitor_access_level, new.security_and_compliance_access_level
  ) or 'private' in (
    new.issues_access_level, new.merge_requests_access_level, new.repository_access_level, new.wiki_access_level,
    new.snippets_access_level, new.monitor_access_level
  ) or new.security_and_compliance_access_level = 'enabled')
  execute function copy_project_features();

create trigger copy_updated_features before update of preferences, issues_access_level, merge_requests_access_level,
    repository_access_level, wiki_access_level, snippets_access_level, monitor_access_level,
    security_and_compliance_access_level
  on projects for each row execute function copy_project_features();
