-- Only the projects where somebody chose a level are written; of most nobody did.
update projects set
  issues_access_level = coalesce(preferences ->> 'issues_access_level', issues_access_level),
  merge_requests_access_level = coalesce(preferences ->> 'merge_requests_access_level', merge_requests_access_level),
  repository_access_level = coalesce(preferences ->> 'repository_access_level', repository_access_level),
  wiki_access_level = coalesce(preferences ->> 'wiki_access_level', wiki_access_level),
  snippets_access_level = coalesce(preferences ->> 'snippets_access_level', snippets_access_level),
  monitor_access_level = coalesce(preferences ->> 'monitor_access_level', monitor_access_level),
  security_and_compliance_access_level =
    coalesce(preferences ->> 'security_and_compliance_access_level', security_and_compliance_access_level)
where preferences ?| array[
  'issues_access_level', 'merge_requests_access_level', 'repository_access_level', 'wiki_access_level',
  'snippets_access_level', 'monitor_access_level', 'security_and_compliance_access_level'];

alter table projects validate constraint projects_issues_access_known;
alter table projects validate constraint projects_merge_requests_access_known;
alter table projects validate constraint projects_repository_access_known;
alter table projects validate constraint projects_wiki_access_known;
alter table projects validate constraint projects_snippets_access_known;
alter table projects validate constraint projects_monitor_access_known;
alter table projects validate constraint projects_security_access_known;
