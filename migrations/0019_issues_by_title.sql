-- Sorting the titles of 100,000 issues takes longer than a page may.
create index issues_of_project_by_title on issues (project_id, title, id);
