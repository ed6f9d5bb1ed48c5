-- Documents of documents that may have near-duplicates, for postgresql. Made by neardup.
-- Copy the texts of the documents in "neardup_linked" to a file: neardup dedup finds the same there as among all documents.
--
-- To make the table from the file that neardup fingerprint wrote:
--
--   CREATE TABLE "documents" ("id" text PRIMARY KEY, "long" integer[], "short" integer[]);
--   \copy "documents" FROM 'FILE.csv' WITH (FORMAT csv, HEADER)
BEGIN;

-- Ids that are NULL or occur in several rows are an error: their documents would be treated as one.
SELECT CAST(concat('neardup: these ids are NULL or occur in several rows: ', ids) AS integer) AS bad_ids FROM (
SELECT count(*) AS n, string_agg(shown, ', ') AS ids FROM (
  SELECT coalesce(CAST("id" AS text), 'NULL') AS shown FROM "documents" GROUP BY "id" HAVING count(*) > 1 OR "id" IS NULL ORDER BY shown LIMIT 10
) AS bad
) AS found WHERE n > 0;

-- Documents with the same signatures are one content. Its name is their smallest id.
CREATE TABLE "neardup_contents" AS
SELECT min("id") AS content, count(*) AS copies, "long" AS own_long, "short" AS own_short
FROM "documents"
WHERE ("long" IS NOT NULL AND cardinality("long") > 0) OR ("short" IS NOT NULL AND cardinality("short") > 0)
GROUP BY "long", "short";

-- The values of each of 42 bands of 3 rows, of both signatures.
CREATE TABLE "neardup_bands" AS
SELECT 0 AS level, n.band, o.own[n.band * 3 + 1 : (n.band + 1) * 3] AS band_values, o.content
FROM (SELECT content, own_long AS own FROM "neardup_contents" WHERE cardinality(own_long) > 0) AS o, generate_series(0, 41) AS n(band);
INSERT INTO "neardup_bands"
SELECT 1 AS level, n.band, o.own[n.band * 3 + 1 : (n.band + 1) * 3] AS band_values, o.content
FROM (SELECT content, own_short AS own FROM "neardup_contents" WHERE cardinality(own_short) > 0) AS o, generate_series(0, 41) AS n(band);

-- The number of contents in each bucket.
CREATE TABLE "neardup_buckets" AS
SELECT level, band, band_values, content, count(*) OVER (PARTITION BY level, band, band_values) AS n FROM "neardup_bands";

-- Pairs that agree in a band, and in enough values by four bits of each. In a bucket of more than 8192 contents, a crowd, all belong together.
CREATE TABLE "neardup_near" AS
SELECT c.a AS a, c.b AS b
FROM (
  SELECT DISTINCT a.level AS level, a.content AS a, b.content AS b
  FROM "neardup_buckets" AS a JOIN "neardup_buckets" AS b ON a.level = b.level AND a.band = b.band AND a.band_values = b.band_values
  WHERE a.n > 1 AND a.n <= 8192 AND a.content < b.content
) AS c JOIN "neardup_contents" AS x ON x.content = c.a JOIN "neardup_contents" AS y ON y.content = c.b
WHERE (c.level = 0 AND (SELECT count(*) FILTER (WHERE x = y AND x >= 0)::float8 / count(*) FILTER (WHERE x >= 0 OR y >= 0) FROM unnest(ARRAY(SELECT v & 15 FROM unnest(x.own_long) WITH ORDINALITY AS u(v, o) ORDER BY o), ARRAY(SELECT v & 15 FROM unnest(y.own_long) WITH ORDINALITY AS u(v, o) ORDER BY o)) AS u(x, y)) >= 0.328125e0)
   OR (c.level = 1 AND (SELECT count(*) FILTER (WHERE x = y AND x >= 0)::float8 / count(*) FILTER (WHERE x >= 0 OR y >= 0) FROM unnest(ARRAY(SELECT v & 15 FROM unnest(x.own_short) WITH ORDINALITY AS u(v, o) ORDER BY o), ARRAY(SELECT v & 15 FROM unnest(y.own_short) WITH ORDINALITY AS u(v, o) ORDER BY o)) AS u(x, y)) >= 0.375e0);

-- All documents that may have near-duplicates.
CREATE TABLE "neardup_linked" AS
WITH together AS (
  SELECT a AS content FROM "neardup_near" UNION DISTINCT SELECT b AS content FROM "neardup_near"
  UNION DISTINCT SELECT content FROM "neardup_buckets" WHERE n > 8192
  UNION DISTINCT SELECT content FROM "neardup_contents" WHERE copies > 1
)
SELECT t."id" AS id
FROM "documents" AS t JOIN "neardup_contents" AS c ON (t."long" = c.own_long OR (t."long" IS NULL AND c.own_long IS NULL)) AND (t."short" = c.own_short OR (t."short" IS NULL AND c.own_short IS NULL)) JOIN together ON together.content = c.content;

-- Drop the tables that are no longer needed.
DROP TABLE "neardup_contents";
DROP TABLE "neardup_bands";
DROP TABLE "neardup_buckets";
DROP TABLE "neardup_near";
COMMIT;
