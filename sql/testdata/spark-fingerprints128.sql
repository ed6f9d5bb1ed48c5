-- Near-duplicates of documents, for spark. Made by neardup.
--
-- To make the table from the file that neardup fingerprint wrote:
--
--   CREATE TABLE `documents` USING parquet AS SELECT * FROM parquet.`FILE.parquet`;
SET spark.sql.legacy.createHiveTableByDefault=false;

-- Ids that are NULL or occur in several rows are an error: their documents would be treated as one.
SELECT raise_error(concat('neardup: these ids are NULL or occur in several rows: ', ids)) AS bad_ids FROM (
SELECT count(*) AS n, concat_ws(', ', collect_list(shown)) AS ids FROM (
  SELECT coalesce(CAST(`id` AS STRING), 'NULL') AS shown FROM `documents` GROUP BY `id` HAVING count(*) > 1 OR `id` IS NULL ORDER BY shown LIMIT 10
) AS bad
) AS found WHERE n > 0;

-- Documents with the same value are one content. Its name is their smallest id.
CREATE TABLE `neardup_contents` AS
SELECT min(`id`) AS content, count(*) AS copies, `fingerprint` AS low, `fingerprint_high` AS high
FROM `documents`
WHERE `fingerprint` IS NOT NULL AND `fingerprint_high` IS NOT NULL
GROUP BY `fingerprint`, `fingerprint_high`;

-- Pairs that agree on the blocks of table 1 of 4, but not on those of an earlier table.
CREATE TABLE `neardup_pairs` AS
SELECT a.content AS a, b.content AS b, bit_count((a.low ^ b.low)) + bit_count((a.high ^ b.high)) AS distance
FROM `neardup_contents` AS a JOIN `neardup_contents` AS b ON (a.low & 4294967295) = (b.low & 4294967295)
WHERE a.content < b.content
  AND bit_count((a.low ^ b.low)) + bit_count((a.high ^ b.high)) <= 3;

-- Pairs that agree on the blocks of table 2 of 4, but not on those of an earlier table.
INSERT INTO `neardup_pairs`
SELECT a.content AS a, b.content AS b, bit_count((a.low ^ b.low)) + bit_count((a.high ^ b.high)) AS distance
FROM `neardup_contents` AS a JOIN `neardup_contents` AS b ON (a.low & (-4294967296)) = (b.low & (-4294967296))
WHERE a.content < b.content
  AND bit_count((a.low ^ b.low)) + bit_count((a.high ^ b.high)) <= 3
  AND (((a.low ^ b.low) & 4294967295) <> 0);

-- Pairs that agree on the blocks of table 3 of 4, but not on those of an earlier table.
INSERT INTO `neardup_pairs`
SELECT a.content AS a, b.content AS b, bit_count((a.low ^ b.low)) + bit_count((a.high ^ b.high)) AS distance
FROM `neardup_contents` AS a JOIN `neardup_contents` AS b ON (a.high & 4294967295) = (b.high & 4294967295)
WHERE a.content < b.content
  AND bit_count((a.low ^ b.low)) + bit_count((a.high ^ b.high)) <= 3
  AND (((a.low ^ b.low) & 4294967295) <> 0)
  AND (((a.low ^ b.low) & (-4294967296)) <> 0);

-- Pairs that agree on the blocks of table 4 of 4, but not on those of an earlier table.
INSERT INTO `neardup_pairs`
SELECT a.content AS a, b.content AS b, bit_count((a.low ^ b.low)) + bit_count((a.high ^ b.high)) AS distance
FROM `neardup_contents` AS a JOIN `neardup_contents` AS b ON (a.high & (-4294967296)) = (b.high & (-4294967296))
WHERE a.content < b.content
  AND bit_count((a.low ^ b.low)) + bit_count((a.high ^ b.high)) <= 3
  AND (((a.low ^ b.low) & 4294967295) <> 0)
  AND (((a.low ^ b.low) & (-4294967296)) <> 0)
  AND (((a.high ^ b.high) & 4294967295) <> 0);

-- The pairs of all documents.
CREATE VIEW `neardup_document_pairs` AS
SELECT CASE WHEN x.`id` < y.`id` THEN x.`id` ELSE y.`id` END AS a, CASE WHEN x.`id` < y.`id` THEN y.`id` ELSE x.`id` END AS b, p.distance AS distance
FROM `neardup_pairs` AS p
JOIN `neardup_contents` AS c ON c.content = p.a JOIN `documents` AS x ON x.`fingerprint` = c.low AND x.`fingerprint_high` = c.high
JOIN `neardup_contents` AS e ON e.content = p.b JOIN `documents` AS y ON y.`fingerprint` = e.low AND y.`fingerprint_high` = e.high
UNION ALL
SELECT x.`id` AS a, y.`id` AS b, 0 AS distance
FROM `neardup_contents` AS c
JOIN `documents` AS x ON x.`fingerprint` = c.low AND x.`fingerprint_high` = c.high
JOIN `documents` AS y ON y.`fingerprint` = c.low AND y.`fingerprint_high` = c.high
WHERE c.copies > 1 AND x.`id` < y.`id`;

-- Groups are connected components. Each edge has its larger end first.
CREATE TABLE `neardup_edges0` AS
SELECT b AS larger, a AS smaller FROM `neardup_pairs`;

-- Round 1: links the larger neighbours of each content to its smallest one, then the smaller ones.
CREATE TABLE `neardup_edges1` AS
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
CREATE TABLE `neardup_edges2` AS
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
CREATE TABLE `neardup_groups` AS
WITH labels AS (
  SELECT larger AS content, smaller AS root FROM `neardup_edges2` UNION DISTINCT SELECT smaller AS content, smaller AS root FROM `neardup_edges2`
)
SELECT t.`id` AS id, CASE WHEN l.root IS NULL THEN c.content ELSE l.root END AS keep
FROM `documents` AS t
JOIN `neardup_contents` AS c ON t.`fingerprint` = c.low AND t.`fingerprint_high` = c.high
LEFT JOIN labels AS l ON l.content = c.content
WHERE l.root IS NOT NULL OR c.copies > 1;

-- Drop the tables that are no longer needed.
DROP TABLE `neardup_edges0`;
DROP TABLE `neardup_edges1`;
DROP TABLE `neardup_edges2`;
