-- Near-duplicates of documents, for clickhouse. Made by neardup.
--
-- To make the table from the file that neardup fingerprint wrote:
--
--   CREATE TABLE `documents` ENGINE = MergeTree ORDER BY tuple() AS SELECT * FROM file('FILE.parquet');

-- Ids that are NULL or occur in several rows are an error: their documents would be treated as one.
SELECT toInt64(concat('neardup: these ids are NULL or occur in several rows: ', ids)) AS bad_ids FROM (
SELECT count(*) AS n, arrayStringConcat(groupArray(shown), ', ') AS ids FROM (
  SELECT coalesce(toString(`id`), 'NULL') AS shown FROM `documents` GROUP BY `id` HAVING count(*) > 1 OR `id` IS NULL ORDER BY shown LIMIT 10
) AS bad
) AS found WHERE n > 0;

-- Documents with the same value are one content. Its name is their smallest id.
CREATE TABLE `neardup_contents` ENGINE = MergeTree ORDER BY tuple() AS
SELECT min(`id`) AS content, count(*) AS copies, `signature` AS signature
FROM `documents`
WHERE `signature` IS NOT NULL AND length(`signature`) > 0
GROUP BY `signature`;

-- The values of each of 25 bands of 5 rows.
CREATE TABLE `neardup_bands` ENGINE = MergeTree ORDER BY tuple() AS
SELECT n.band, arraySlice(o.own, n.band * 5 + 1, 5) AS band_values, o.content
FROM (SELECT content, arrayMap(v -> bitAnd(v, 2147483647), signature) AS own FROM `neardup_contents`) AS o, (SELECT toInt32(number) AS band FROM numbers(25)) AS n;

-- Pairs of contents that agree in a band, each pair once.
CREATE TABLE `neardup_candidates` ENGINE = MergeTree ORDER BY tuple() AS
SELECT DISTINCT a.content AS a, b.content AS b
FROM `neardup_bands` AS a JOIN `neardup_bands` AS b ON a.band = b.band AND a.band_values = b.band_values
WHERE a.content < b.content;

-- The candidates that are near-duplicates.
CREATE TABLE `neardup_pairs` ENGINE = MergeTree ORDER BY tuple() AS
SELECT a, b, similarity
FROM (
  SELECT c.a AS a, c.b AS b, arrayCount((x, y) -> x = y AND x >= 0, x.signature, y.signature) / arrayCount((x, y) -> x >= 0 OR y >= 0, x.signature, y.signature) AS similarity
  FROM `neardup_candidates` AS c JOIN `neardup_contents` AS x ON x.content = c.a JOIN `neardup_contents` AS y ON y.content = c.b
) AS s
WHERE similarity >= 0.6e0;

-- The pairs of all documents.
CREATE VIEW `neardup_document_pairs` AS
SELECT CASE WHEN x.`id` < y.`id` THEN x.`id` ELSE y.`id` END AS a, CASE WHEN x.`id` < y.`id` THEN y.`id` ELSE x.`id` END AS b, p.similarity AS similarity
FROM `neardup_pairs` AS p
JOIN `neardup_contents` AS c ON c.content = p.a JOIN `documents` AS x ON x.`signature` = c.signature
JOIN `neardup_contents` AS e ON e.content = p.b JOIN `documents` AS y ON y.`signature` = e.signature
UNION ALL
SELECT x.`id` AS a, y.`id` AS b, 1.0e0 AS similarity
FROM `neardup_contents` AS c
JOIN `documents` AS x ON x.`signature` = c.signature
JOIN `documents` AS y ON y.`signature` = c.signature
WHERE c.copies > 1 AND x.`id` < y.`id`;

-- Groups are connected components. Each edge has its larger end first.
CREATE TABLE `neardup_edges0` ENGINE = MergeTree ORDER BY tuple() AS
SELECT b AS larger, a AS smaller FROM `neardup_pairs`;

-- Round 1: links the larger neighbours of each content to its smallest one, then the smaller ones.
CREATE TABLE `neardup_edges1` ENGINE = MergeTree ORDER BY tuple() AS
WITH ways AS (
  SELECT larger AS u, smaller AS v FROM `neardup_edges0` UNION ALL SELECT smaller AS u, larger AS v FROM `neardup_edges0`
), smallest AS (
  SELECT u, CASE WHEN min(v) < u THEN min(v) ELSE u END AS m FROM ways GROUP BY u
), star AS (
  SELECT DISTINCT ways.v AS larger, smallest.m AS smaller FROM ways JOIN smallest ON ways.u = smallest.u WHERE ways.v > ways.u
), roots AS (
  SELECT larger AS u, min(smaller) AS m FROM star GROUP BY larger
)
SELECT star.smaller AS larger, roots.m AS smaller FROM star JOIN roots ON star.larger = roots.u WHERE star.smaller <> roots.m
UNION DISTINCT
SELECT u AS larger, m AS smaller FROM roots;

-- Round 2: links the larger neighbours of each content to its smallest one, then the smaller ones.
CREATE TABLE `neardup_edges2` ENGINE = MergeTree ORDER BY tuple() AS
WITH ways AS (
  SELECT larger AS u, smaller AS v FROM `neardup_edges1` UNION ALL SELECT smaller AS u, larger AS v FROM `neardup_edges1`
), smallest AS (
  SELECT u, CASE WHEN min(v) < u THEN min(v) ELSE u END AS m FROM ways GROUP BY u
), star AS (
  SELECT DISTINCT ways.v AS larger, smallest.m AS smaller FROM ways JOIN smallest ON ways.u = smallest.u WHERE ways.v > ways.u
), roots AS (
  SELECT larger AS u, min(smaller) AS m FROM star GROUP BY larger
)
SELECT star.smaller AS larger, roots.m AS smaller FROM star JOIN roots ON star.larger = roots.u WHERE star.smaller <> roots.m
UNION DISTINCT
SELECT u AS larger, m AS smaller FROM roots;

-- The groups are complete if this is 0. If it is not, use more rounds.
SELECT (SELECT count(*) FROM `neardup_edges2` WHERE smaller IN (SELECT larger FROM `neardup_edges2`)) + (SELECT count(*) - count(DISTINCT larger) FROM `neardup_edges2`) AS unfinished;

-- Every document of a group of two or more, and the one to keep.
CREATE TABLE `neardup_groups` ENGINE = MergeTree ORDER BY tuple() AS
WITH labels AS (
  SELECT larger AS content, smaller AS root FROM `neardup_edges2` UNION DISTINCT SELECT smaller AS content, smaller AS root FROM `neardup_edges2`
)
SELECT t.`id` AS id, CASE WHEN l.root IS NULL THEN c.content ELSE l.root END AS keep
FROM `documents` AS t
JOIN `neardup_contents` AS c ON t.`signature` = c.signature
LEFT JOIN labels AS l ON l.content = c.content
WHERE l.root IS NOT NULL OR c.copies > 1
SETTINGS join_use_nulls = 1;

-- Drop the tables that are no longer needed.
DROP TABLE `neardup_bands`;
DROP TABLE `neardup_candidates`;
DROP TABLE `neardup_edges0`;
DROP TABLE `neardup_edges1`;
DROP TABLE `neardup_edges2`;
