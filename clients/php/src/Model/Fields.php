<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Model;

use Sandlot\Exception\UnexpectedAnswerException;

/**
 * The members of an object in an answer, each as the type that it must have. What a newer service adds is
 * not looked at.
 *
 * @internal
 */
final class Fields
{
    /**
     * @param array<mixed> $values
     * @param string $place where the object is in the answer, for errors
     */
    public function __construct(private readonly array $values, private readonly string $place)
    {
    }

    public static function ofJson(string $text, string $place): self
    {
        $values = json_decode($text, true);
        if (!is_array($values)) {
            throw new UnexpectedAnswerException("The answer to {$place} is no JSON object.");
        }
        return new self($values, $place);
    }

    public function string(string $name): string
    {
        return $this->stringOrNull($name) ?? $this->refuse($name, 'string');
    }

    public function stringOrNull(string $name): ?string
    {
        $value = $this->values[$name] ?? null;
        return $value === null || is_string($value) ? $value : $this->refuse($name, 'string');
    }

    public function int(string $name): int
    {
        return $this->intOrNull($name) ?? $this->refuse($name, 'whole number');
    }

    public function intOrNull(string $name): ?int
    {
        $value = $this->values[$name] ?? null;
        return $value === null || is_int($value) ? $value : $this->refuse($name, 'whole number');
    }

    /** The protocol of sandboxes has large numbers as text. */
    public function int64(string $name): int
    {
        $value = $this->values[$name] ?? 0;
        $isNumber = is_int($value) || (is_string($value) && is_numeric($value));
        return $isNumber ? (int) $value : $this->refuse($name, 'whole number');
    }

    public function float(string $name): float
    {
        return $this->floatOrNull($name) ?? $this->refuse($name, 'number');
    }

    public function floatOrNull(string $name): ?float
    {
        $value = $this->values[$name] ?? null;
        return match (true) {
            $value === null => null,
            is_int($value), is_float($value) => (float) $value,
            default => $this->refuse($name, 'number'),
        };
    }

    public function bool(string $name): bool
    {
        return $this->boolOrNull($name) ?? $this->refuse($name, 'boolean');
    }

    public function boolOrNull(string $name): ?bool
    {
        $value = $this->values[$name] ?? null;
        return $value === null || is_bool($value) ? $value : $this->refuse($name, 'boolean');
    }

    public function time(string $name): \DateTimeImmutable
    {
        return $this->timeOrNull($name) ?? $this->refuse($name, 'time');
    }

    public function timeOrNull(string $name): ?\DateTimeImmutable
    {
        $text = $this->stringOrNull($name);
        try {
            return $text === null ? null : new \DateTimeImmutable($text);
        } catch (\Exception) {
            $this->refuse($name, 'time');
        }
    }

    /** @return list<string> */
    public function strings(string $name): array
    {
        return $this->stringsOrNull($name) ?? $this->refuse($name, 'list');
    }

    /** @return list<string>|null */
    public function stringsOrNull(string $name): ?array
    {
        $read = fn (mixed $value): string => is_string($value) ? $value : $this->refuse($name, 'list of strings');
        return $this->list($name, $read);
    }

    /** @return list<int> */
    public function ints(string $name): array
    {
        $read = fn (mixed $value): int => is_int($value) ? $value : $this->refuse($name, 'list of whole numbers');
        return $this->list($name, $read) ?? $this->refuse($name, 'list');
    }

    /** @return array<string, string> */
    public function map(string $name): array
    {
        return $this->mapOrNull($name) ?? $this->refuse($name, 'object');
    }

    /** @return array<string, string>|null */
    public function mapOrNull(string $name): ?array
    {
        if (!isset($this->values[$name])) {
            return null;
        }
        $map = [];
        foreach ($this->values($name) as $key => $value) {
            $map[$key] = is_string($value) ? $value : $this->refuse($name, 'object of strings');
        }
        return $map;
    }

    /** @return array<string, mixed> */
    public function values(string $name): array
    {
        $value = $this->values[$name] ?? null;
        $members = [];
        foreach (is_array($value) ? $value : $this->refuse($name, 'object') as $key => $member) {
            $members[(string) $key] = $member;
        }
        return $members;
    }

    /** The members of a member. */
    public function fields(string $name): ?self
    {
        return $this->objectOrNull($name, static fn (self $fields): self => $fields);
    }

    /**
     * @template T of object
     * @param callable(self): T $read
     * @return T
     */
    public function object(string $name, callable $read): object
    {
        return $this->objectOrNull($name, $read) ?? $this->refuse($name, 'object');
    }

    /**
     * @template T of object
     * @param callable(self): T $read
     * @return T|null
     */
    public function objectOrNull(string $name, callable $read): ?object
    {
        $value = $this->values[$name] ?? null;
        return $value === null ? null : $read($this->below($name, $value));
    }

    /**
     * @template T of object
     * @param callable(self): T $read
     * @return list<T>
     */
    public function objects(string $name, callable $read): array
    {
        return $this->objectsOrNull($name, $read) ?? $this->refuse($name, 'list');
    }

    /**
     * @template T of object
     * @param callable(self): T $read
     * @return list<T>|null
     */
    public function objectsOrNull(string $name, callable $read): ?array
    {
        $one = fn (mixed $value, int $index): object => $read($this->below("{$name}.{$index}", $value));
        return $this->list($name, $one);
    }

    /**
     * @template T of \BackedEnum
     * @param T $unknown the case for a value that is newer than this package
     * @return T
     */
    public function enum(string $name, \BackedEnum $unknown): \BackedEnum
    {
        return $this->enumOrNull($name, $unknown) ?? $this->refuse($name, 'string');
    }

    /**
     * @template T of \BackedEnum
     * @param T $unknown
     * @return T|null
     */
    public function enumOrNull(string $name, \BackedEnum $unknown): ?\BackedEnum
    {
        $value = $this->stringOrNull($name);
        return $value === null ? null : $unknown::tryFrom($value) ?? $unknown;
    }

    /**
     * @template T of \BackedEnum
     * @param T $unknown
     * @return list<T>
     */
    public function enums(string $name, \BackedEnum $unknown): array
    {
        $case = static fn (string $value): \BackedEnum => $unknown::tryFrom($value) ?? $unknown;
        return array_map($case, $this->strings($name));
    }

    /**
     * @template T
     * @param callable(mixed, int): T $read gets a value and its place in the list
     * @return list<T>|null
     */
    private function list(string $name, callable $read): ?array
    {
        $values = $this->values[$name] ?? null;
        if ($values === null) {
            return null;
        }
        $list = is_array($values) && array_is_list($values) ? $values : $this->refuse($name, 'list');
        return array_map($read, $list, array_keys($list));
    }

    private function below(string $name, mixed $value): self
    {
        return is_array($value) ? new self($value, "{$this->place}.{$name}") : $this->refuse($name, 'object');
    }

    private function refuse(string $name, string $what): never
    {
        throw new UnexpectedAnswerException("The answer's {$this->place}.{$name} is no {$what}.");
    }
}
