<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Generator;

/** An object of the document that becomes a class. */
final class Schema
{
    private const NULL = ['type' => 'null'];

    /**
     * @param array<string, mixed> $schema
     * @param bool $isRead whether it is in answers
     * @param bool $isWritten whether it is in requests
     */
    public function __construct(
        public readonly string $name,
        public readonly array $schema,
        public readonly bool $isRead,
        public readonly bool $isWritten,
    ) {
    }

    /** @return array<string, array<string, mixed>> those that have to be there first */
    public function members(): array
    {
        $members = array_map(self::withoutNull(...), $this->schema['properties'] ?? []);
        $first = array_filter($members, $this->isRequired(...), ARRAY_FILTER_USE_KEY);
        return $first + $members;
    }

    public function isRequired(string $member): bool
    {
        return in_array($member, $this->schema['required'] ?? [], true);
    }

    public function mayBeNull(string $member): bool
    {
        return !$this->isRequired($member) || $this->takesNull($member);
    }

    /** Whether a request may have it as null, which is more than to leave it out. */
    public function sendsNull(string $member): bool
    {
        return $this->isWritten && !$this->isRead && $this->takesNull($member);
    }

    private function takesNull(string $member): bool
    {
        $of = $this->schema['properties'][$member];
        $type = $of['type'] ?? null;
        return (is_array($type) && in_array('null', $type, true)) || in_array(self::NULL, self::choices($of), true);
    }

    /**
     * One of another class, or null.
     *
     * @param array<string, mixed> $of
     *
     * @return array<string, mixed>
     */
    private static function withoutNull(array $of): array
    {
        $others = array_filter(self::choices($of), static fn (array $one): bool => $one !== self::NULL);
        return count($others) === 1
            ? reset($others) + array_diff_key($of, ['anyOf' => true, 'oneOf' => true])
            : $of;
    }

    /**
     * @param array<string, mixed> $of
     *
     * @return list<array<string, mixed>>
     */
    private static function choices(array $of): array
    {
        return $of['anyOf'] ?? $of['oneOf'] ?? [];
    }
}
