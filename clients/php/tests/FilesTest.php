<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Tests;

use Sandlot\Exception\AgentException;
use Sandlot\Exception\LocalFileException;
use Sandlot\File\FileChange;
use Sandlot\File\FileType;
use Sandlot\Http\Message\Factory;

final class FilesTest extends ServiceTestCase
{
    public function testWriteReadAndLook(): void
    {
        $files = self::sandbox()->files;
        $bytes = random_bytes(1000);
        $this->assertSame('/home/user/notes/a b&c', $files->write('notes/a b&c', $bytes));
        $this->assertSame($bytes, $files->read('/home/user/notes/a b&c'));
        $info = $files->stat('notes/a b&c');
        $this->assertSame([FileType::File, 1000, 'user', 0o644], [$info->type, $info->size, $info->owner, $info->mode]);
        $this->assertEqualsWithDelta(time(), $info->modifiedAt->getTimestamp(), 300);
        $files->write('empty', '');
        $this->assertSame('', $files->read('empty'));
    }

    public function testDirectories(): void
    {
        $files = self::sandbox()->files;
        $this->assertTrue($files->makeDirectory('tree/below')->isDirectory());
        $files->write('tree/below/file', '1');
        $this->assertSame(['below'], array_column($files->list('tree'), 'name'));
        $this->assertSame(['below', 'file'], array_column($files->list('tree', depth: 2), 'name'));
        $files->move('tree/below/file', 'tree/moved');
        $this->assertFalse($files->exists('tree/below/file'));
        $this->assertTrue($files->exists('tree/moved'));
        $files->remove('tree');
        $files->remove('tree');
        $this->assertFalse($files->exists('tree'));
    }

    public function testFilesOfThisMachineThatFailAreNamed(): void
    {
        $files = self::sandbox()->files;
        $files->write('one', '1');
        $calls = [
            '/no/such/file' => fn () => $files->upload('/no/such/file', 'one'),
            '/no/such/folder/one' => fn () => $files->download('one', '/no/such/folder/one'),
            '/proc' => fn () => $files->download('one', '/proc'),
        ];
        foreach ($calls as $path => $call) {
            try {
                $call();
                $this->fail("{$path} is there");
            } catch (LocalFileException $failure) {
                $this->assertStringContainsString($path, $failure->getMessage());
            }
        }
    }

    public function testStreamsBothWays(): void
    {
        $here = tempnam(sys_get_temp_dir(), 'sandlot');
        $there = 'large';
        $file = fopen($here, 'w');
        $block = random_bytes(1 << 20);
        for ($i = 0; $i < 24; $i++) {
            fwrite($file, "{$i}{$block}");
        }
        fclose($file);
        try {
            $before = memory_get_peak_usage();
            self::sandbox()->files->upload($here, $there);
            $sum = hash_file('sha256', $here);
            $this->assertSame($sum, substr(self::sandbox()->commands->run(['sha256sum', $there])->stdout, 0, 64));
            unlink($here);
            mkdir("{$here}.part");  // that of another program
            self::sandbox()->files->download($there, $here);
            $this->assertSame($sum, hash_file('sha256', $here));
            $this->assertLessThan(8 << 20, memory_get_peak_usage() - $before);
            $this->assertSame(["{$here}.part"], glob("{$here}.*"));
        } finally {
            @unlink($here);
            @rmdir("{$here}.part");
            self::sandbox()->files->remove($there);
        }
    }

    public function testAPipeIsUploadedAndAStreamReadInPieces(): void
    {
        $pipe = popen('seq 1 300000', 'r');
        self::sandbox()->files->write('numbers', $pipe);
        pclose($pipe);
        $body = self::sandbox()->files->open('numbers');
        $this->assertSame("1\n2\n3\n", $body->read(6));
        $body->close();
        $this->assertSame("300000\n", self::sandbox()->commands->run('tail -n 1 numbers')->stdout);
        $psr = (new Factory())->createStream('of PSR-7');
        self::sandbox()->files->write('psr', $psr);
        $this->assertSame('of PSR-7', self::sandbox()->files->read('psr'));
    }

    public function testLinksForABrowser(): void
    {
        $files = self::sandbox()->files;
        $this->assertSame(200, self::browse($files->uploadLink('by a link'), 'from a form')[0]);
        $this->assertSame([200, 'from a form'], self::browse($files->downloadLink('by a link')));
        $this->assertSame(401, self::browse($files->downloadLink('by a link', seconds: -60))[0]);
        $this->assertSame(401, self::browse($files->downloadLink('by a link'), 'not for writing')[0]);
        $files->as('root')->write('/root/secret', 'of root');
        $this->assertSame([200, 'of root'], self::browse($files->as('root')->downloadLink('/root/secret')));
    }

    /** @return array{int, string} status and body */
    private static function browse(string $url, ?string $upload = null): array
    {
        $handle = curl_init($url);
        curl_setopt_array($handle, [
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_CAINFO => getenv('SANDLOT_CA'),
            CURLOPT_CONNECT_TO => ['::127.0.0.1:'],
        ]);
        if ($upload !== null) {
            curl_setopt($handle, CURLOPT_POSTFIELDS, $upload);
            curl_setopt($handle, CURLOPT_HTTPHEADER, ['Content-Type: application/octet-stream']);
        }
        $body = (string) curl_exec($handle);
        return [curl_getinfo($handle, CURLINFO_RESPONSE_CODE), $body];
    }

    public function testAnotherUser(): void
    {
        self::sandbox()->files->as('root')->write('/root/own', 'x');
        $this->assertSame('root', self::sandbox()->files->as('root')->stat('/root/own')->owner);
    }

    public function testWhatIsNotThere(): void
    {
        foreach (['read', 'stat', 'list'] as $method) {
            try {
                self::sandbox()->files->{$method}('no/such');
                $this->fail($method);
            } catch (AgentException $refusal) {
                $this->assertTrue($refusal->isNotFound(), $method);
            }
        }
    }

    public function testADownloadThatFailsLeavesNothing(): void
    {
        $here = sys_get_temp_dir() . '/sandlot-' . bin2hex(random_bytes(6));
        try {
            self::sandbox()->files->download('no/such', $here);
            $this->fail('it was there');
        } catch (AgentException) {
            $this->assertSame([], glob("{$here}*"));
        }
    }

    public function testChangesOfADirectory(): void
    {
        $files = self::sandbox()->files;
        $files->makeDirectory('watched');
        $changes = $files->watch('watched', recursive: true);
        $files->write('watched/new', 'x');
        $seen = [];
        foreach ($changes as $event) {
            $seen[] = [$event->name, $event->change];
            if ($event->change === FileChange::Written) {
                break;
            }
        }
        $this->assertSame('new', end($seen)[0]);
        unset($changes);
    }
}
