BEGIN TRANSACTION;
CREATE TABLE store (
        prefix TEXT NOT NULL,
        key TEXT NOT NULL,
        value TEXT NOT NULL,
        created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
        updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, expires_at TIMESTAMP, ttl_minutes REAL,
        PRIMARY KEY (prefix, key)
    );
INSERT INTO "store" VALUES('users.7','likes','{"text":"é figs","n":1180591620717411303424,"deep":{"list":[1.5,null,true]}}','2024-05-01 12:00:00.000001+00:00','2024-05-01 12:00:00.000001+00:00',NULL,NULL);
INSERT INTO "store" VALUES('users.7','short','{"text":""}','2024-05-01 12:00:00.000002+00:00','2024-05-01 12:00:00.000002+00:00','2024-05-01 12:05:00.000002+00:00',5.0);
INSERT INTO "store" VALUES('users','plain','{"n":1}','2024-05-01 12:00:00.000003+00:00','2024-05-01 12:00:00.000003+00:00',NULL,NULL);
CREATE TABLE store_migrations (v INTEGER PRIMARY KEY);
INSERT INTO "store_migrations" VALUES(0);
INSERT INTO "store_migrations" VALUES(1);
INSERT INTO "store_migrations" VALUES(2);
INSERT INTO "store_migrations" VALUES(3);
INSERT INTO "store_migrations" VALUES(4);
CREATE TABLE store_vectors (
        prefix TEXT NOT NULL,
        key TEXT NOT NULL,
        field_name TEXT NOT NULL,
        embedding BLOB,
        created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
        updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
        PRIMARY KEY (prefix, key, field_name),
        FOREIGN KEY (prefix, key) REFERENCES store (prefix, key) ON DELETE CASCADE
    );
INSERT INTO "store_vectors" VALUES('users.7','likes','text',X'0000C0400000803F','2024-05-01 12:00:00.000001+00:00','2024-05-01 12:00:00.000001+00:00');
INSERT INTO "store_vectors" VALUES('users.7','short','text',X'000000000000803F','2024-05-01 12:00:00.000002+00:00','2024-05-01 12:00:00.000002+00:00');
CREATE TABLE vector_migrations (v INTEGER PRIMARY KEY);
INSERT INTO "vector_migrations" VALUES(0);
CREATE INDEX store_prefix_idx ON store (prefix);
CREATE INDEX idx_store_expires_at ON store (expires_at) WHERE expires_at IS NOT NULL;
COMMIT;
