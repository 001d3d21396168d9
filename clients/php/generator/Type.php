<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Generator;

/** The type of one member: how PHP declares it, how phpdoc does, how it is read and written. */
final class Type
{
    /**
     * @param string $declared in a signature
     * @param string $documented in phpdoc
     * @param string $reader the method of Fields that reads it
     * @param string|null $class the class or enumeration that the reader makes
     * @param string|null $writer the method of Members that writes it
     */
    public function __construct(
        public readonly string $declared,
        public readonly string $documented,
        public readonly string $reader,
        public readonly ?string $class = null,
        public readonly bool $isEnum = false,
        public readonly ?string $writer = null,
    ) {
    }

    public static function plain(string $name, ?string $reader = null): self
    {
        return new self($name, $name, $reader ?? $name);
    }

    public static function list(self $item): self
    {
        return new self('array', "list<{$item->documented}>", "{$item->reader}s", $item->class, $item->isEnum);
    }

    public function read(string $name, bool $mayBeNull): string
    {
        $class = match (true) {
            $this->class === null => '',
            $this->isEnum => ", {$this->class}::Unknown",
            default => ", {$this->class}::read(...)",
        };
        return "\$fields->{$this->reader}" . ($mayBeNull ? 'OrNull' : '') . "('{$name}'{$class})";
    }

    public function write(string $variable): string
    {
        return $this->writer === null ? $variable : "Members::{$this->writer}({$variable})";
    }
}
