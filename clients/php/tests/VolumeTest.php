<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Tests;

use Sandlot\Exception\Api\NameTakenException;
use Sandlot\Exception\Api\NotFoundException;
use Sandlot\Exception\Api\VolumeAttachedException;
use Sandlot\Model\EntryType;
use Sandlot\Volume\Volume;

final class VolumeTest extends ServiceTestCase
{
    private static Volume $volume;

    public static function setUpBeforeClass(): void
    {
        self::$volume = self::client()->volumes->create('v' . bin2hex(random_bytes(6)));
    }

    public static function tearDownAfterClass(): void
    {
        self::$volume->delete();
        parent::tearDownAfterClass();
    }

    public function testFilesWithoutASandbox(): void
    {
        $files = self::$volume->files;
        $entry = $files->write('/tree/docs/a b', 'content', mode: '0640');
        $this->assertSame([EntryType::File, 7, '0640'], [$entry->type, $entry->size, $entry->mode]);
        $this->assertSame('content', $files->read('/tree/docs/a b'));
        $pipe = popen('seq 1 300000', 'r');
        $files->write('/tree/numbers', $pipe);
        pclose($pipe);
        $body = $files->open('/tree/numbers');
        $this->assertSame("1\n2\n", $body->read(4));
        $body->close();
        $this->assertSame(EntryType::Directory, $files->makeDirectory('/tree/more/of', mode: '0700')->type);
        $files->move('/tree/docs/a b', '/tree/more/moved');
        $names = array_column([...$files->list('/tree', pageSize: 1)], 'name');
        sort($names);
        $this->assertSame(['docs', 'more', 'numbers'], $names);
        $files->remove('/tree/more', recursive: true);
        $this->expectException(NotFoundException::class);
        $files->stat('/tree/more');
    }

    public function testNothingIsReplacedByAMove(): void
    {
        self::$volume->files->write('/one', '1');
        self::$volume->files->write('/two', '2');
        $this->expectException(NameTakenException::class);
        self::$volume->files->move('/one', '/two');
    }

    public function testASandboxThatMountsIt(): void
    {
        self::$volume->files->write('/given', 'before');
        $sandbox = self::client()->sandboxes->create(timeout: 300, volumeMounts: ['/data' => self::$volume->name]);
        try {
            $this->assertSame('before', $sandbox->files->read('/data/given'));
            $this->assertSame([$sandbox->id], self::$volume->refresh()->info()->attachedTo);
            self::$volume->files->write('/given', 'meanwhile');
            $this->fail('it was written');
        } catch (VolumeAttachedException $refusal) {
            $this->assertSame(409, $refusal->status);
        } finally {
            $sandbox->delete();
        }
    }

    public function testTheyAreListed(): void
    {
        $listed = array_column([...self::client()->volumes->list(pageSize: 1)], 'id');
        $this->assertContains(self::$volume->id, $listed);
        $this->assertSame(self::$volume->name, self::client()->volumes->get(self::$volume->id)->name);
    }
}
