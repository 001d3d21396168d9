<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class EgressRule implements \JsonSerializable
{
    /**
     * @param string $host A name in lower case.
     * @param array<string, string>|null $headers Headers that requests get; a request's own values are replaced.
     *   ${secrets.NAME} stands for the value of a secret that may be sent to the host.
     * @param array<string, string>|null $query Query parameters that requests get, as headers.
     * @param list<string>|null $methods Only these methods. Default: all.
     * @param list<string>|null $paths Only these paths; a star at the end stands for any rest. Default: all.
     */
    public function __construct(
        public readonly string $host,
        public readonly ?array $headers = null,
        public readonly ?array $query = null,
        public readonly ?array $methods = null,
        public readonly ?array $paths = null,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            host: $fields->string('host'),
            headers: $fields->mapOrNull('headers'),
            query: $fields->mapOrNull('query'),
            methods: $fields->stringsOrNull('methods'),
            paths: $fields->stringsOrNull('paths'),
        );
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'host' => $this->host,
            'headers' => Members::map($this->headers),
            'query' => Members::map($this->query),
            'methods' => $this->methods,
            'paths' => $this->paths,
        ]);
    }
}
