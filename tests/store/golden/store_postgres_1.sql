CREATE TABLE stepgraph_store_migrations (area TEXT NOT NULL, v INTEGER NOT NULL, PRIMARY KEY (area, v));
INSERT INTO stepgraph_store_migrations VALUES
    ('items', 0), ('items', 1), ('items', 2), ('items', 3), ('items', 4), ('items', 5), ('vectors', 0);
CREATE TABLE store (
    prefix TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    value JSONB NOT NULL,
    created_at TIMESTAMPTZ DEFAULT CURRENT_TIMESTAMP,
    updated_at TIMESTAMPTZ DEFAULT CURRENT_TIMESTAMP,
    expires_at TIMESTAMPTZ,
    ttl_minutes DOUBLE PRECISION,
    PRIMARY KEY (prefix, key));
CREATE INDEX idx_store_expires_at ON store (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE store_vectors (
    prefix TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    field_name TEXT COLLATE "C" NOT NULL,
    embedding VECTOR,
    created_at TIMESTAMPTZ DEFAULT CURRENT_TIMESTAMP,
    updated_at TIMESTAMPTZ DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (prefix, key, field_name),
    FOREIGN KEY (prefix, key) REFERENCES store (prefix, key) ON DELETE CASCADE);
INSERT INTO store VALUES
    ('users.7', 'likes', '{"n": 1180591620717411303424, "deep": {"list": [1.5, null, true]}, "text": "é figs"}',
     '2024-05-01 12:00:00.000001+00', '2024-05-01 12:00:00.000001+00', NULL, NULL),
    ('users.7', 'short', '{"text": ""}',
     '2024-05-01 12:00:00.000002+00', '2024-05-01 12:00:00.000002+00', '2024-05-01 12:05:00.000002+00', 5),
    ('users', 'plain', '{"n": 1}', '2024-05-01 12:00:00.000003+00', '2024-05-01 12:00:00.000003+00', NULL, NULL),
    ('users.7', U&'odd\0001\0001',
     U&'{"n": 5, "large": 99999999999999991611392.0, "text\005Cu0001\005Cu0001": "\D7FF\005Cu0010 \005Cu0001\005Cu0002"}',
     '2024-05-01 12:00:00.000004+00', '2024-05-01 12:00:00.000004+00', NULL, NULL);
INSERT INTO store_vectors VALUES
    ('users.7', 'likes', 'text', '[6,1]', '2024-05-01 12:00:00.000001+00', '2024-05-01 12:00:00.000001+00'),
    ('users.7', 'short', 'text', '[0,1]', '2024-05-01 12:00:00.000002+00', '2024-05-01 12:00:00.000002+00');
