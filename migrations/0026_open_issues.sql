-- How many open issues a project has is shown with the project.
create index issues_open_in_project on issues (project_id, confidential) where state = 'opened';
